import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stringify } from 'yaml'
import type { Store } from '../../../coordinator/kernel/store/store.ts'
import { FLOWS, startRuns, waitForEnds } from '../../support/flow-load.ts'
import { type FlowVerdict, judgeFlows } from '../../support/judge-flows.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { ReplicaSet } from './replica-set.ts'

const CLIENTS = 4
const EVERY_MS = 600
/** Longer than the lease of a job, so that the other coordinator takes its runs. */
const PAUSE_MS = 13_000

/** Allowances that decide nothing here. */
const tiers = Object.fromEntries(
  ['anonymous', 'free', 'pro', 'enterprise'].map(tier => [
    tier,
    { requests_per_minute: 100_000, requests_per_month: 'unlimited' },
  ]),
)

interface FlowTakeovers extends FlowVerdict {
  kills: number
  pauses: number
  /** Calls in progress at the moments of the kills and pauses, over both coordinators. */
  callsAtWork: number
  acknowledged: number
}

/**
 * Two coordinators on one PostgreSQL run flows, while one of them is killed with kill -9, or stopped
 * until the other has its runs and then continued, again and again.
 */
export const takeOverFlows = async (plan: {
  kills: number
  pauses: number
}): Promise<FlowTakeovers> => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-flow-takeovers-'))
  const config = join(folder, 'coordinator.yaml')
  writeFileSync(config, stringify({ flows: FLOWS, tiers }))
  const set = await ReplicaSet.start({
    count: 2,
    cells: 0,
    flags: ['--config', config],
    isOnSharedCluster: true,
  })
  try {
    const acknowledged = new Set<string>()
    const over = new AbortController()
    const load = { signal: over.signal, everyMs: EVERY_MS }
    const clients = Array.from({ length: CLIENTS }, (_, at) =>
      startRuns(() => set.replica(at).url, set.keys.operator, acknowledged, load),
    )
    let callsAtWork = 0
    const faults = [...spread(plan)]
    for (const [turn, fault] of faults.entries()) {
      await waitUntil(
        'both coordinators run flows',
        async () => (await countWorkers(set.store)) > 1,
      )
      await sleep(Math.random() * 200)
      callsAtWork += await countCallsAtWork(set.store)
      if (fault === 'kill') await set.killAndRestart(turn)
      else await pauseAndContinue(set, turn)
    }
    over.abort()
    await Promise.all(clients)
    await waitForEnds(set.store)
    const verdict = await judgeFlows(set.store, acknowledged)
    return { ...plan, callsAtWork, acknowledged: acknowledged.size, ...verdict }
  } finally {
    await set.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The pauses are spread evenly between the kills. */
function* spread({ kills, pauses }: { kills: number; pauses: number }) {
  const all = kills + pauses
  for (let n = 0; n < all; n++)
    yield Math.floor(((n + 1) * pauses) / all) > Math.floor((n * pauses) / all) ? 'pause' : 'kill'
}

/** The process goes on in the middle of what it did, while the other one has its runs. */
const pauseAndContinue = async (set: ReplicaSet, index: number): Promise<void> => {
  const { pid } = set.replica(index).process
  process.kill(pid, 'SIGSTOP')
  await sleep(PAUSE_MS)
  process.kill(pid, 'SIGCONT')
}

/** Workers that hold jobs of flows, one for each coordinator. */
const countWorkers = async ({ ledger }: Store): Promise<number> => {
  const jobs = ledger.read.selectFrom('jobs').where('kind', '=', 'flow-run')
  return (await jobs.where('state', '=', 'running').select('worker').distinct().execute()).length
}

const countCallsAtWork = async ({ ledger }: Store): Promise<number> => {
  const query = ledger.read.selectFrom('flow_steps').select('run_id').where('state', '=', 'running')
  return (await query.execute()).length
}
