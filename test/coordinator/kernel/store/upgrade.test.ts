import type { Kysely } from 'kysely'
import t, { type Test } from 'tap'
import { createUsage } from '../../../../coordinator/access/quota/usage.ts'
import { queryUsage } from '../../../../coordinator/access/quota/usage-query.ts'
import { flowRunTable } from '../../../../coordinator/agents/flows/flow-run.table.ts'
import { rampUpTable } from '../../../../coordinator/fleet/rampup/ramp-up.table.ts'
import type { StoreEngine } from '../../../../coordinator/kernel/store/engine.ts'
import { ledgerMigrations } from '../../../../coordinator/kernel/store/migrations.ts'
import type { StorePlace } from '../../../../coordinator/kernel/store/place.ts'
import { postgresEngine } from '../../../../coordinator/kernel/store/postgres/postgres-engine.ts'
import { recordMigrations } from '../../../../coordinator/kernel/store/record-migrations.ts'
import { sqliteEngine } from '../../../../coordinator/kernel/store/sqlite/sqlite-engine.ts'
import { openStore } from '../../../../coordinator/kernel/store/store.ts'
import type { StoreMigration } from '../../../../coordinator/kernel/store/store-migration.ts'
import { usageRow } from '../../../support/backup-rig.ts'
import { createDatabase, postgresMissing } from '../../../support/postgres.ts'
import { temporaryFolder } from './temporary.ts'

type AnyTables = Record<string, Record<string, unknown>>

/** Schema of the version before flows, registers and reports. */
const LAST = { ledger: '0108_discovery_new_entities', records: '0007_module_results' }
const HOUR_MS = 3_600_000

const until = (migrations: Record<string, StoreMigration>, last: string) =>
  Object.fromEntries(Object.entries(migrations).filter(([name]) => name <= last))

/** Makes the store of an older version, with a tenant, a job, a row of usage and an hour of sums. */
const fillOld = async (engine: StoreEngine): Promise<void> => {
  const ledger = await engine.open<AnyTables>({
    name: 'ledger',
    survives: 'power_loss',
    migrations: until(ledgerMigrations(engine.schema), LAST.ledger),
  })
  const records = await engine.open<AnyTables>({
    name: 'records',
    survives: 'process_end',
    migrations: until(recordMigrations, LAST.records),
  })
  await ledger.free.write(async trx => {
    const tenant = { id: 'acme', name: 'acme', created_at: 1, disabled_at: null }
    await trx.insertInto('tenants').values(tenant).execute()
  })
  await records.free.write(async trx => {
    const { ttft_ms: _, retries: __, ...row } = usageRow({ at: 2 * HOUR_MS })
    await trx
      .insertInto('usage')
      .values({ id: 'use_old', ...row })
      .execute()
    const sums = { ok: 7, cancelled: 1, failed: 2, prompt_tokens: 3_000_000_000, cached_tokens: 0 }
    const others = { completion_tokens: 40, duration_ms: 100 }
    const key = { hour_at: HOUR_MS, key_id: 'k', tenant_id: 'one', model: 'm' }
    await trx
      .insertInto('usage_buckets')
      .values({ ...key, ...sums, ...others })
      .execute()
  })
  await records.close()
  await ledger.close()
  await engine.close()
}

const testUpgrade = async (t: Test, place: StorePlace, engine: StoreEngine): Promise<void> => {
  await fillOld(engine)
  const store = await openStore(place, { pollMilliseconds: 0, mustExist: true })
  t.teardown(() => store.close())
  t.strictSame(await store.ledger.finishMigrations(), [])
  t.strictSame(await store.records.finishMigrations(), [])
  const usage = createUsage(store)
  await usage.record(usageRow({ at: 2 * HOUR_MS, ttft_ms: 5_000_000_000, retries: 2 }))
  const question = { from: 0, to: 1e14, groupBy: ['hour'] as const, limit: 10 }
  t.match(await queryUsage(store.records, question), [
    { hour: HOUR_MS, ok: 7, failed: 2, prompt_tokens: 3_000_000_000, refused: 0, ttft_count: 0 },
    { hour: 2 * HOUR_MS, ok: 2, retries: 2, ttft_count: 1, ttft_ms: 5_000_000_000 },
  ])
  await testFlowTables(t, store.ledger.free)
  await store.ledger.free.write(async trx => {
    const tables = await (trx as unknown as Kysely<AnyTables>).introspection.getTables()
    const columns = tables.flatMap(({ columns }) => columns)
    t.strictSame(
      columns.filter(({ dataType }) => dataType === 'int4'),
      [],
      'whole numbers have 64 bits, also in columns that were added since',
    )
  })
}

const testFlowTables = async (
  t: Test,
  free: Awaited<ReturnType<typeof openStore>>['ledger']['free'],
): Promise<void> => {
  const common = { tenant_id: 'acme', key_id: 'k', request_id: 'r', job_id: 'j', reason: null }
  const times = { fence: 0, created_at: 1e13, changed_at: 1e13, ended_at: null }
  await free.write(async trx => {
    const run = { id: 'run_1', flow_id: 'f', synergy_id: null, steps_json: '[]', cancelled: 0 }
    await trx
      .insertInto('flow_runs')
      .values({ ...common, ...times, ...run, state: 'queued' })
      .execute()
    const limits = { apply_seconds: 1, hold_seconds: 1, error_rise_percent: 1, min_requests: 1 }
    const plan_json = JSON.stringify({ document: {}, stages: [], before: {}, ...limits })
    const stage = { stage: 0, stage_began_at: 1, held_since: null, aborted: 0, plan_json }
    const health = { lost_since: 1e13, errors_before_percent: 12.25 }
    await trx
      .insertInto('ramp_ups')
      .values({ ...common, ...times, ...stage, ...health, id: 'ramp_1', state: 'running' })
      .execute()
    const rows = await trx.selectFrom('flow_runs').selectAll().execute()
    t.match(rows.map(flowRunTable.read), [{ id: 'run_1', createdAt: 1e13 }])
    const rampUps = await trx.selectFrom('ramp_ups').selectAll().execute()
    t.match(rampUps.map(rampUpTable.read), [{ lostSince: 1e13, errorsBeforePercent: 12.25 }])
  })
}

t.test('an older store in SQLite is brought up to date with its data', async t => {
  const folder = await temporaryFolder(t)
  await testUpgrade(t, folder, sqliteEngine(folder))
})

t.test(
  'an older store in PostgreSQL is brought up to date with its data',
  { skip: postgresMissing },
  async t => {
    const address = await createDatabase(t)
    await testUpgrade(t, address, await postgresEngine(address))
  },
)
