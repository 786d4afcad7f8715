import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stringify } from 'yaml'
import { bootstrap } from '../../coordinator/access/keys/bootstrap.ts'
import { openStore, type Store } from '../../coordinator/kernel/store/store.ts'
import { placeEmptyStore } from './empty-store.ts'
import { FLOWS, startRuns, waitForEnds } from './flow-load.ts'
import { type FlowVerdict, judgeFlows } from './judge-flows.ts'
import { Process } from './stack.ts'

const CLIENTS = 3
const EVERY_MS = 100
/** Kills for each that has to meet a run at work: about one of seven meets none. */
const MOST_KILLS = 5

interface FlowKills extends FlowVerdict {
  kills: number
  /** Kills that met at least one run at work. */
  killsAtWork: number
  /** Calls of steps that a kill interrupted. */
  interrupted: number
  /** Starts of runs that were acknowledged. */
  acknowledged: number
}

/**
 * Kills a coordinator with SIGKILL while clients start flows, until so many kills have met runs at work.
 * Then lets it finish, and compares the effects of every step with what the runs report.
 */
export const killInFlows = async (killsAtWork: number): Promise<FlowKills> => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-flow-kills-'))
  const stateDir = join(folder, 'coordinator')
  const configFile = join(folder, 'coordinator.yaml')
  writeFileSync(configFile, stringify({ flows: FLOWS }))
  placeEmptyStore(stateDir)
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
  const seen = { kills: 0, atWork: 0, interrupted: 0 }
  try {
    while (seen.atWork < killsAtWork && seen.kills < killsAtWork * MOST_KILLS) {
      const url = await start()
      const over = new AbortController()
      const clients = Array.from({ length: CLIENTS }, () =>
        startRuns(() => url, keys.operator, acknowledged, {
          signal: over.signal,
          everyMs: EVERY_MS,
        }),
      )
      await sleep(300 + Math.random() * 500)
      await coordinator.end('SIGKILL')
      seen.kills++
      over.abort()
      await Promise.all(clients)
      const store = await openStore(stateDir)
      const { running, atWork } = await countOpen(store)
      seen.interrupted += running
      seen.atWork += atWork > 0 ? 1 : 0
      await store.close()
    }
    await start()
    const store = await openStore(stateDir)
    await waitForEnds(store).finally(() => coordinator.end('SIGTERM'))
    const verdict = await judgeFlows(store, acknowledged)
    await store.close()
    return {
      kills: seen.kills,
      killsAtWork: seen.atWork,
      interrupted: seen.interrupted,
      acknowledged: acknowledged.size,
      ...verdict,
    }
  } finally {
    await coordinator.end('SIGKILL').catch(() => {})
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
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
