import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Transaction } from 'kysely'
import { createAudit } from '../coordinator/kernel/audit/audit.ts'
import type { StorePlace } from '../coordinator/kernel/store/place.ts'
import { openStore, type Store } from '../coordinator/kernel/store/store.ts'
import type { LedgerTables } from '../coordinator/kernel/store/tables.ts'
import { administer, Cluster } from '../test/support/postgres.ts'
import { percentile, type ReportRow, report, round } from './measure.ts'

/**
 * Works per second and CPU of this process per work in both lanes, by callers that each wait for
 * their work: on SQLite, and on PostgreSQL (with fsync, over a unix socket) where it is installed.
 *
 *   npm run bench -- store [--works 4000] [--callers 64]
 */
export const main = async (argv: string[]): Promise<void> => {
  const options = {
    works: { type: 'string', default: '4000' },
    callers: { type: 'string', default: '64' },
  } as const
  const { values } = parseArgs({ args: argv, options })
  const settings = { works: Number(values.works), callers: Number(values.callers) }
  const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-'))
  const cluster = await Cluster.create({ fsync: 'on', full_page_writes: 'on' })
  try {
    const rows = await measureStore('SQLite', folder, settings)
    if (cluster === undefined) console.log('PostgreSQL is not installed')
    else rows.push(...(await measureStore('PostgreSQL', await newDatabase(cluster), settings)))
    report('store', settings, rows)
  } finally {
    await cluster?.stop()
    rmSync(folder, { recursive: true })
  }
}

interface Settings {
  works: number
  callers: number
}

type Work = (store: Store, n: number) => Promise<unknown>

const newDatabase = async ({ folder }: Cluster): Promise<StorePlace> => {
  await administer(folder, 'create database bench')
  return { host: folder, user: 'postgres', database: 'bench' }
}

const measureStore = async (
  engine: string,
  place: StorePlace,
  settings: Settings,
): Promise<ReportRow[]> => {
  const store = await openStore(place, { pollMilliseconds: 0 })
  const audit = createAudit(store)
  const works: Record<string, Work> = {
    'sealed: a row of the audit': (_store, n) =>
      audit.append({ at: n, actor: 'bench', action: 'bench', subject: `${n}`, outcome: 'done' }),
    'free: a conditional upsert, 1,000 keys': ({ ledger }, n) =>
      ledger.free.write(trx => reserve(trx, `subject-${n % 1000}`)),
    'free: the same, one key': ({ ledger }) => ledger.free.write(trx => reserve(trx, 'one')),
  }
  const rows: ReportRow[] = []
  for (const [what, work] of Object.entries(works)) {
    await measure(store, work, { ...settings, works: settings.works / 4 })
    rows.push({ engine, what, ...(await measure(store, work, settings)) })
  }
  await store.close()
  return rows
}

const reserve = (trx: Transaction<LedgerTables>, subject: string): Promise<unknown> =>
  trx
    .insertInto('quotas')
    .values({ month: '2026-11', subject, reserved: 1 })
    .onConflict(conflict =>
      conflict
        .columns(['month', 'subject'])
        .doUpdateSet(row => ({ reserved: row('quotas.reserved', '+', 1) }))
        .where('quotas.reserved', '<', 1_000_000_000),
    )
    .execute()

const measure = async (store: Store, work: Work, { works, callers }: Settings) => {
  const times: number[] = []
  const cpu = process.cpuUsage()
  const begunMs = performance.now()
  let next = 0
  const call = async (): Promise<void> => {
    for (let n = next++; n < works; n = next++) {
      const startedMs = performance.now()
      await work(store, n)
      times.push(performance.now() - startedMs)
    }
  }
  await Promise.all(Array.from({ length: callers }, call))
  const { user, system } = process.cpuUsage(cpu)
  return {
    per_second: Math.round(works / ((performance.now() - begunMs) / 1000)),
    cpu_us: round((user + system) / works),
    p50_ms: round(percentile(times, 50)),
    p99_ms: round(percentile(times, 99)),
  }
}
