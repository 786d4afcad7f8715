/**
 * Measures every report on a year of usage: 10 million rows of 40 tenants, 200 keys and 12 models,
 * and the power of 5,000 cells over a month. The coordinator is a process of its own, asked over
 * HTTP. CPU is that of its process with all threads; the delay and the CPU of the longest tick are
 * those of its event loop.
 *
 *   npm run bench -- reports [--rows 10000000] [--days 365] [--recorded-days 73] [--cells 5000]
 *     [--calls 5] [--store postgres]
 *     [--folder path]   keeps the filled SQLite store there, and measures the one that is there
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { demoKeys } from '../coordinator/access/keys/bootstrap.ts'
import { addKey } from '../coordinator/access/keys/issue.ts'
import type { StorePlace } from '../coordinator/kernel/store/place.ts'
import { openStore, type Store } from '../coordinator/kernel/store/store.ts'
import { administer, Cluster } from '../test/support/postgres.ts'
import { cpuMs, percentile, type ReportRow, report, round, rssMiB } from './measure.ts'
import { type Case, listCases } from './reports/cases.ts'
import { BenchCoordinator } from './reports/coordinator.ts'
import { fillYear } from './reports/fill.ts'
import { fillFleet } from './reports/fill-fleet.ts'
import { fillRegisters } from './reports/fill-registers.ts'

const OPTIONS = {
  rows: { type: 'string', default: '10000000' },
  days: { type: 'string', default: '365' },
  'recorded-days': { type: 'string', default: '73' },
  cells: { type: 'string', default: '5000' },
  calls: { type: 'string', default: '5' },
  store: { type: 'string', default: 'sqlite' },
  folder: { type: 'string' },
} as const

type Settings = Record<'rows' | 'days' | 'recordedDays' | 'cells' | 'calls', number>

export const main = async (argv: string[]): Promise<void> => {
  const { values } = parseArgs({ args: argv, options: OPTIONS })
  const settings: Settings = {
    rows: Number(values.rows),
    days: Number(values.days),
    recordedDays: Number(values['recorded-days']),
    cells: Number(values.cells),
    calls: Number(values.calls),
  }
  const folder = values.folder ?? mkdtempSync(join(tmpdir(), 'shoal-bench-reports-'))
  const cluster = values.store === 'postgres' ? await createCluster() : undefined
  try {
    const rows = await measureOn(join(folder, 'coordinator'), cluster, settings)
    report('reports', { store: values.store, ...settings }, rows)
  } finally {
    await cluster?.stop()
    if (values.folder === undefined) rmSync(folder, { recursive: true, force: true })
  }
}

const createCluster = async (): Promise<Cluster> => {
  const cluster = await Cluster.create({ max_wal_size: '4GB' })
  if (cluster === undefined) throw new Error('PostgreSQL is not installed')
  await administer(cluster.folder, 'create database bench')
  return cluster
}

const measureOn = async (
  stateDir: string,
  cluster: Cluster | undefined,
  settings: Settings,
): Promise<ReportRow[]> => {
  const place: StorePlace =
    cluster === undefined ? stateDir : { host: cluster.folder, user: 'postgres', database: 'bench' }
  const store = await openStore(place, { pollMilliseconds: 0 })
  const key = await prepare(store, settings)
  await store.close()
  if (cluster) await administer(cluster.folder, 'vacuum analyze', 'bench')
  const url = cluster && `postgres://postgres@localhost/bench?host=${cluster.folder}`
  const coordinator = await BenchCoordinator.start(stateDir, url, key)
  try {
    const rows = [await measureIdle(coordinator)]
    for (const each of listCases(Date.now()))
      rows.push(await measureCase(coordinator, each, settings.calls))
    rows.push({ report: 'memory of the coordinator, MiB', 'longest ms': rssMiB(coordinator.pid) })
    return rows
  } finally {
    await coordinator.stop()
  }
}

/** Fills an empty store. Returns the key of an administrator. */
const prepare = async (store: Store, settings: Settings): Promise<string> => {
  await demoKeys(store, {})
  const filled = await store.records.read.selectFrom('usage').select('id').limit(1).execute()
  if (filled.length === 0) {
    const beganMs = performance.now()
    const now = Date.now()
    await fillFleet(store, { cells: settings.cells, now })
    await fillRegisters(store, now)
    await fillYear(store, { ...settings, now })
    console.log(`filled in ${Math.round((performance.now() - beganMs) / 1000)} s`)
  }
  const spec = { tenantId: 'demo', personId: 'demo_operator', tier: 'enterprise' as const }
  const roles = ['client' as const, 'operator_admin' as const]
  const by = { actor: 'bench' }
  const added = await store.ledger.sealed.write(trx =>
    addKey(trx, { ...spec, roles }, by, Date.now()),
  )
  return added.secret
}

/** Stalls of the loop by itself: the coordinator looks at all cells each second. */
const measureIdle = async (coordinator: BenchCoordinator): Promise<ReportRow> => {
  await coordinator.takeStalls()
  await new Promise(resolve => setTimeout(resolve, 3000))
  const { max, cpuMs: tickMs } = await coordinator.takeStalls()
  return {
    report: 'no report, for 3 s',
    'loop late max ms': round(max),
    'CPU of a tick, max ms': round(tickMs),
  }
}

const measureCase = async (
  coordinator: BenchCoordinator,
  { what, path, body }: Case,
  calls: number,
): Promise<ReportRow> => {
  const times: number[] = []
  await coordinator.takeStalls()
  const before = cpuMs(coordinator.pid)
  let bytes = 0
  for (let n = 0; n < calls; n++) {
    const begunMs = performance.now()
    try {
      bytes = await coordinator.call(path, body)
    } catch (error) {
      // one that takes too long is a result too
      console.log((error as Error).message)
    }
    times.push(performance.now() - begunMs)
  }
  const stalls = await coordinator.takeStalls()
  return {
    report: what,
    'median ms': round(percentile(times, 50)),
    'longest ms': round(Math.max(...times)),
    'CPU ms': round((cpuMs(coordinator.pid) - before) / calls),
    'loop late max ms': round(stalls.max),
    'CPU of a tick, max ms': round(stalls.cpuMs),
    KiB: Math.round(bytes / 1024),
  }
}
