import { Agent } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { sql } from 'kysely'
import { askModel } from '../test/prove/support/month-client.ts'
import { ReplicaSet } from '../test/prove/support/replica-set.ts'
import { administer } from '../test/support/postgres.ts'
import { cpuMs, percentile, type ReportRow, report, round } from './measure.ts'
import { main as measureLanes } from './store.ts'

/**
 * Requests per second, CPU of the coordinators per request, and transactions and statements that 64
 * requests with an Enterprise key cause, for one to three coordinators on PostgreSQL with fsync: what
 * the database was asked under load less what it is asked in as long a time without. Then both lanes
 * of the store against SQLite.
 *
 *   npm run bench -- replicas [--requests 4000] [--clients 32]
 *
 * The load and an echoing cell run in this process, so requests per second tell more about the
 * machine than about shoal when it has few cores.
 */
export const main = async (argv: string[]): Promise<void> => {
  const options = {
    requests: { type: 'string', default: '4000' },
    clients: { type: 'string', default: '32' },
  } as const
  const { values } = parseArgs({ args: argv, options })
  const settings = { requests: Number(values.requests), clients: Number(values.clients) }
  const rows: ReportRow[] = []
  for (const count of [1, 2, 3]) rows.push(await measure(count, settings))
  report('replicas', settings, rows)
  await measureLanes([])
}

interface Settings {
  requests: number
  clients: number
}

/** Usage rows reach the database every second; its statistics follow a second later. */
const SETTLE_MS = 3000
const STATISTICS = 'pg_stat_statements'

const measure = async (count: number, settings: Settings): Promise<ReportRow> => {
  const set = await ReplicaSet.start({
    count,
    cells: 1,
    flags: ['--tiers-enterprise-requests-per-minute', '100000'],
    settings: {
      fsync: 'on',
      full_page_writes: 'on',
      shared_preload_libraries: STATISTICS,
      [`${STATISTICS}.track_utility`]: 'off',
    },
  })
  try {
    await administer(set.cluster.folder, `create extension ${STATISTICS}`, 'shoal')
    await load(set, { ...settings, requests: settings.requests / 4 })
    await sleep(SETTLE_MS)
    const beganMs = performance.now()
    let loaded: Awaited<ReturnType<typeof load>> | undefined
    const busy = await countDuring(set, async () => {
      loaded = await load(set, settings)
      await sleep(SETTLE_MS)
    })
    const lengthMs = performance.now() - beganMs
    const idle = await countDuring(set, () => sleep(lengthMs))
    const per64 = (name: keyof Counts): number =>
      round(((busy[name] - idle[name]) / settings.requests) * 64)
    return {
      coordinators: count,
      ...loaded,
      transactions_per_64: per64('transactions'),
      statements_per_64: per64('statements'),
      idle_per_second: round(idle.statements / (lengthMs / 1000)),
    }
  } finally {
    await set.stop()
  }
}

const load = async (set: ReplicaSet, { requests, clients }: Settings) => {
  const agent = new Agent({ keepAlive: true })
  const times: number[] = []
  let left = requests
  const cpu = (): number => set.replicas.reduce((sum, { process }) => sum + cpuMs(process.pid), 0)
  const cpuBefore = cpu()
  const startedMs = performance.now()
  const client = async (_: unknown, index: number): Promise<void> => {
    const { url } = set.replica(index)
    while (left-- > 0) {
      const askedMs = performance.now()
      const status = await askModel(agent, url, set.keys.enterprise)
      if (status !== 200) throw new Error(`status ${status}`)
      times.push(performance.now() - askedMs)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  const seconds = (performance.now() - startedMs) / 1000
  agent.destroy()
  return {
    per_second: Math.round(requests / seconds),
    cpu_us: Math.round(((cpu() - cpuBefore) * 1000) / requests),
    p50_ms: round(percentile(times, 50)),
    p99_ms: round(percentile(times, 99)),
  }
}

interface Counts {
  transactions: number
  statements: number
}

/** Counts of all that the database was asked in the meantime. */
const countDuring = async (set: ReplicaSet, run: () => Promise<unknown>): Promise<Counts> => {
  const before = await count(set)
  await run()
  const after = await count(set)
  return {
    transactions: after.transactions - before.transactions,
    statements: after.statements - before.statements,
  }
}

const count = async ({ store }: ReplicaSet): Promise<Counts> => {
  const { rows } = await sql<Counts>`select
    (select xact_commit + xact_rollback from pg_stat_database
      where datname = current_database()) as transactions,
    (select sum(calls)::bigint from pg_stat_statements) as statements`.execute(store.ledger.read)
  const [{ transactions, statements } = { transactions: 0, statements: 0 }] = rows
  return { transactions: Number(transactions), statements: Number(statements) }
}
