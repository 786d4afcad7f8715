import { setTimeout as sleep } from 'node:timers/promises'
import { FLOW_RUN } from '../../coordinator/agents/flows/flows.ts'
import { hasEnded } from '../../coordinator/agents/flows/run.ts'
import { OPEN_JOB_STATES } from '../../coordinator/kernel/queue/job.ts'
import type { Store } from '../../coordinator/kernel/store/store.ts'

const STEPS = 5
const END_SECONDS = 600

/** A conversation is the effect of a step: its title names the run, its participant the step. */
const create = (name: string) => ({
  skill: 'multi-agent-conversation',
  input: {
    action: 'create',
    title: { $from: 'run.id' },
    participants: [{ id: name, type: 'person' }],
  },
})
const effectSteps = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ id: `s${at}`, ...create(`s${at}`) }))

/** One flow goes through; the other is refused at its last step and undone. */
export const FLOWS = {
  straight: { steps: effectSteps(STEPS) },
  undone: {
    steps: [
      ...effectSteps(2).map(step => ({ ...step, compensate: create(`undo-${step.id}`) })),
      { id: 'refused', skill: 'repair-trigger', input: { service_id: 'nowhere' } },
    ],
  },
}

/** Starts runs one after another until the signal aborts, and notes those that were acknowledged. */
export const startRuns = async (
  urlOf: () => string,
  key: string,
  acknowledged: Set<string>,
  { signal, everyMs }: { signal: AbortSignal; everyMs: number },
): Promise<void> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  for (let n = 0; !signal.aborted; n++)
    try {
      const flow = n % 3 === 0 ? 'undone' : 'straight'
      const init = { method: 'POST', headers, body: '{}', signal }
      const response = await fetch(`${urlOf()}/v1/flows/${flow}/runs`, init)
      if (response.status === 201)
        acknowledged.add(((await response.json()) as { run_id: string }).run_id)
      await sleep(everyMs, undefined, { signal })
    } catch {
      if (!signal.aborted) await sleep(20)
    }
}

/** Waits until every run and its job have ended; rejects when that takes too long. */
export const waitForEnds = async ({ ledger }: Pick<Store, 'ledger'>): Promise<void> => {
  for (let second = 0; second < END_SECONDS; second++) {
    const rows = await ledger.read.selectFrom('flow_runs').selectAll().execute()
    const jobs = await ledger.read
      .selectFrom('jobs')
      .select('id')
      .where('kind', '=', FLOW_RUN)
      .where('state', 'in', OPEN_JOB_STATES)
      .execute()
    if (jobs.length === 0 && rows.every(row => hasEnded(row))) return
    await sleep(1000)
  }
  throw new Error(`runs have not ended within ${END_SECONDS} s`)
}
