import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stringify } from 'yaml'
import { hasEnded, runOf, stepCallOf } from '../../coordinator/flows/run.ts'
import { bootstrap } from '../../coordinator/keys/bootstrap.ts'
import { openStore, type Store } from '../../coordinator/store/store.ts'
import { Process } from './stack.ts'

const STEPS = 5
const CLIENTS = 3
const END_SECONDS = 180

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

const FLOWS = {
  straight: { steps: effectSteps(STEPS) },
  undone: {
    steps: [
      ...effectSteps(2).map(step => ({ ...step, compensate: create(`undo-${step.id}`) })),
      { id: 'refused', skill: 'repair-trigger', input: { service_id: 'nowhere' } },
    ],
  },
}

export interface FlowKills {
  kills: number
  /** Kills that met at least one run at work. */
  killsAtWork: number
  /** Calls of steps that a kill interrupted. */
  interrupted: number
  /** Starts of runs that were acknowledged. */
  acknowledged: number
  runs: number
  /** Runs by the state of their end. */
  ends: Record<string, number>
  effects: number
  faults: string[]
}

/**
 * Kills a coordinator with SIGKILL while clients start flows, then lets it finish, and compares the
 * effects of every step with what the runs report.
 */
export const killInFlows = async (kills: number): Promise<FlowKills> => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-flow-kills-'))
  const stateDir = join(folder, 'coordinator')
  const configFile = join(folder, 'coordinator.yaml')
  writeFileSync(configFile, stringify({ flows: FLOWS }))
  const first = await openStore(stateDir)
  const { keys } = await bootstrap(first)
  await first.close()
  const coordinator = new Process('shoal-coordinator', () => [
    ...['--config', configFile, '--state-dir', stateDir, '--http-port', '0'],
  ])
  const start = async (): Promise<string> => {
    coordinator.start()
    const [, url = ''] = await coordinator.line(/"url":"(http:\/\/127\.0\.0\.1:\d+)"/)
    return url
  }
  const acknowledged = new Set<string>()
  const seen = { atWork: 0, interrupted: 0 }
  try {
    for (let kill = 0; kill < kills; kill++) {
      const url = await start()
      const over = new AbortController()
      const clients = Array.from({ length: CLIENTS }, (_, at) =>
        startRuns(url, keys.operator, at, acknowledged, over.signal),
      )
      await sleep(300 + Math.random() * 500)
      await coordinator.end('SIGKILL')
      over.abort()
      await Promise.all(clients)
      const store = await openStore(stateDir)
      const { running, atWork } = await countOpen(store)
      seen.interrupted += running
      seen.atWork += atWork > 0 ? 1 : 0
      await store.close()
    }
    await start()
    await finish(stateDir)
    await coordinator.end('SIGTERM')
    const store = await openStore(stateDir)
    const judged = await judge(store, acknowledged)
    await store.close()
    return {
      kills,
      killsAtWork: seen.atWork,
      interrupted: seen.interrupted,
      acknowledged: acknowledged.size,
      ...judged,
    }
  } finally {
    await coordinator.end('SIGKILL').catch(() => {})
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

const startRuns = async (
  url: string,
  key: string,
  client: number,
  acknowledged: Set<string>,
  signal: AbortSignal,
): Promise<void> => {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  for (let n = 0; !signal.aborted; n++)
    try {
      const flow = (n + client) % CLIENTS === 0 ? 'undone' : 'straight'
      const init = { method: 'POST', headers, body: '{}', signal }
      const response = await fetch(`${url}/v1/flows/${flow}/runs`, init)
      if (response.status === 201)
        acknowledged.add(((await response.json()) as { run_id: string }).run_id)
      await sleep(100, undefined, { signal })
    } catch {
      if (!signal.aborted) await sleep(20)
    }
}

/** Calls that were interrupted, and runs that have begun and not ended. */
const countOpen = async ({ ledger }: Store): Promise<{ running: number; atWork: number }> => {
  const calls = await ledger.read
    .selectFrom('flow_steps')
    .select('run_id')
    .where('state', '=', 'running')
    .execute()
  const runs = await ledger.read
    .selectFrom('flow_runs')
    .select('id')
    .where('state', 'in', ['running', 'compensating'])
    .execute()
  return { running: calls.length, atWork: runs.length }
}

/** Waits until every run has ended; rejects when that takes too long. */
const finish = async (stateDir: string): Promise<void> => {
  const store = await openStore(stateDir)
  try {
    for (let second = 0; second < END_SECONDS; second++) {
      const rows = await store.ledger.read.selectFrom('flow_runs').selectAll().execute()
      if (rows.every(row => hasEnded(runOf(row)))) return
      await sleep(1000)
    }
    throw new Error(`runs have not ended within ${END_SECONDS} s`)
  } finally {
    await store.close()
  }
}

const judge = async (
  { ledger }: Store,
  acknowledged: ReadonlySet<string>,
): Promise<Pick<FlowKills, 'runs' | 'ends' | 'effects' | 'faults'>> => {
  const { read } = ledger
  const runs = (await read.selectFrom('flow_runs').selectAll().execute()).map(runOf)
  const calls = await read.selectFrom('flow_steps').selectAll().execute()
  const jobs = await read.selectFrom('jobs').selectAll().where('kind', '=', 'flow-run').execute()
  const made = await read.selectFrom('conversations').selectAll().execute()
  const effects = new Map<string, number>()
  for (const { title, participants_json } of made) {
    const [participant] = JSON.parse(participants_json) as { id: string }[]
    const name = `${title} ${participant?.id}`
    effects.set(name, (effects.get(name) ?? 0) + 1)
  }
  const known = new Set(runs.map(({ id }) => id))
  const faults = [...acknowledged].filter(id => !known.has(id)).map(id => `run ${id} is lost`)
  for (const { id, jobId, steps } of runs) {
    const job = jobs.find(each => each.id === jobId)
    if (job === undefined || !['done', 'dead'].includes(job.state))
      faults.push(`job of ${id} is ${job?.state ?? 'lost'}`)
    for (const [position, step] of steps.entries())
      for (const undo of [0, 1]) {
        const row = calls.find(
          call => call.run_id === id && call.position === position && call.undo === undo,
        )
        const state = row === undefined ? undefined : stepCallOf(row).state
        const name = `${id} ${undo === 1 ? 'undo-' : ''}${step.id}`
        const fault = effectFault(state, effects.get(name) ?? 0)
        if (fault !== undefined) faults.push(`${name}: ${fault}`)
      }
  }
  const ends = Object.fromEntries(
    [...Map.groupBy(runs, ({ state }) => state)].map(([state, of]) => [state, of.length]),
  )
  return { runs: runs.length, ends, effects: made.length, faults }
}

/** What a state says of the number of effects, where that is not so. */
const effectFault = (state: string | undefined, effects: number): string | undefined => {
  const isRight =
    state === 'done' ? effects === 1 : state === 'unknown' ? effects <= 1 : effects === 0
  return isRight ? undefined : `${effects} effects in the state ${state}`
}
