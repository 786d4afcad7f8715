import { conversationTable } from '../../coordinator/agents/conversations/conversation.table.ts'
import { flowRunTable } from '../../coordinator/agents/flows/flow-run.table.ts'
import { flowStepTable } from '../../coordinator/agents/flows/flow-step.table.ts'
import type { Store } from '../../coordinator/kernel/store/store.ts'

/** Ends of runs, and effects of their steps. */
export interface FlowVerdict {
  runs: number
  /** Runs by the state of their end. */
  ends: Record<string, number>
  effects: number
  /** Claims of jobs whose worker was lost. */
  lostClaims: number
  faults: string[]
}

/** Compares the effects of every step with what the runs report; no acknowledged run is missing. */
export const judgeFlows = async (
  { ledger }: Store,
  acknowledged: ReadonlySet<string>,
): Promise<FlowVerdict> => {
  const { read } = ledger
  const runs = (await read.selectFrom('flow_runs').selectAll().execute()).map(flowRunTable.read)
  const steps = await read.selectFrom('flow_steps').selectAll().execute()
  const calls = steps.map(flowStepTable.read)
  const jobs = await read.selectFrom('jobs').selectAll().where('kind', '=', 'flow-run').execute()
  const stored = await read.selectFrom('conversations').selectAll().execute()
  const effects = new Map<string, number>()
  for (const { title, participants } of stored.map(conversationTable.read)) {
    const [participant] = participants
    const name = `${title} ${participant?.id}`
    effects.set(name, (effects.get(name) ?? 0) + 1)
  }
  const known = new Set(runs.map(({ id }) => id))
  const faults = [...acknowledged].filter(id => !known.has(id)).map(id => `run ${id} is lost`)
  for (const { id, jobId, steps, state } of runs) {
    const job = jobs.find(each => each.id === jobId)
    if (job?.state !== (state === 'unknown' || state === 'failed' ? 'dead' : 'done'))
      faults.push(`job of ${id}, which is ${state}, is ${job?.state ?? 'lost'}`)
    for (const [position, step] of steps.entries())
      for (const undo of [false, true]) {
        const call = calls.find(
          call => call.runId === id && call.position === position && call.undo === undo,
        )
        const state = call?.state
        const name = `${id} ${undo ? 'undo-' : ''}${step.id}`
        const fault = effectFault(state, effects.get(name) ?? 0)
        if (fault !== undefined) faults.push(`${name}: ${fault}`)
      }
  }
  const ends = Object.fromEntries(
    [...Map.groupBy(runs, ({ state }) => state)].map(([state, of]) => [state, of.length]),
  )
  const lostClaims = jobs.reduce((sum, { attempts }) => sum + Math.max(0, attempts - 1), 0)
  return { runs: runs.length, ends, effects: stored.length, lostClaims, faults }
}

/** What a state says of the number of effects, where that is not so. */
const effectFault = (state: string | undefined, effects: number): string | undefined => {
  const isRight =
    state === 'done' ? effects === 1 : state === 'unknown' ? effects <= 1 : effects === 0
  return isRight ? undefined : `${effects} effects in the state ${state}`
}
