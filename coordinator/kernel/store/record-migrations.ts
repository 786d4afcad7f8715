import { type Kysely, sql } from 'kysely'
import type { StoreMigration } from './store-migration.ts'

/* Migrations of the records by name, in order. One that was released is never changed. */

const usageTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('usage')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('request_id', 'text', column => column.notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .addColumn('key_id', 'text', column => column.notNull())
    .addColumn('tenant_id', 'text', column => column.notNull())
    .addColumn('model', 'text', column => column.notNull())
    .addColumn('cell_id', 'text', column => column.notNull())
    .addColumn('route', 'text', column => column.notNull())
    .addColumn('status', 'text', column => column.notNull())
    .addColumn('prompt_tokens', 'integer')
    .addColumn('completion_tokens', 'integer')
    .addColumn('duration_ms', 'integer', column => column.notNull())
    .execute()
  await schema.createIndex('usage_key').on('usage').columns(['key_id', 'at']).execute()
  await schema.createIndex('usage_tenant').on('usage').columns(['tenant_id', 'at']).execute()
}

const seriesTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('series')
    .addColumn('cell_id', 'text', column => column.notNull())
    .addColumn('resolution_seconds', 'integer', column => column.notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .addColumn('buckets_json', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('series_key', ['cell_id', 'resolution_seconds', 'at'])
    .execute()
  await schema
    .createTable('series_cells')
    .addColumn('cell_id', 'text', column => column.primaryKey().notNull())
    .addColumn('late_until', 'bigint', column => column.notNull())
    .execute()
}

/** Adds the index for the requests of the last hour. */
const usageByTime = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema.createIndex('usage_status').on('usage').columns(['status', 'at']).execute()
}

/** Sealed hours of usage, and which rows are in one already. */
const usageBuckets = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema.alterTable('usage').addColumn('cached_tokens', 'integer').execute()
  await schema
    .alterTable('usage')
    .addColumn('sealed', 'integer', column => column.notNull().defaultTo(0))
    .execute()
  await schema.createIndex('usage_sealed').on('usage').columns(['sealed', 'at', 'id']).execute()
  let table = schema
    .createTable('usage_buckets')
    .addColumn('hour_at', 'bigint', column => column.notNull())
    .addColumn('key_id', 'text', column => column.notNull())
    .addColumn('tenant_id', 'text', column => column.notNull())
    .addColumn('model', 'text', column => column.notNull())
  for (const sum of ['ok', 'cancelled', 'failed', 'prompt_tokens', 'cached_tokens'])
    table = table.addColumn(sum, 'bigint', column => column.notNull())
  for (const sum of ['completion_tokens', 'duration_ms'])
    table = table.addColumn(sum, 'bigint', column => column.notNull())
  await table
    .addPrimaryKeyConstraint('usage_buckets_key', ['hour_at', 'key_id', 'tenant_id', 'model'])
    .execute()
  // the name of an index must differ from that of every constraint
  for (const owner of ['key', 'tenant'])
    await schema
      .createIndex(`usage_buckets_by_${owner}`)
      .on('usage_buckets')
      .columns([`${owner}_id`, 'hour_at'])
      .execute()
}

/** Totals of each hour, for rows and sums from before without a checksum. */
const usageHours = async (db: Kysely<unknown>): Promise<void> => {
  await db.schema
    .createTable('usage_hours')
    .addColumn('hour_at', 'bigint', column => column.primaryKey().notNull())
    .addColumn('requests', 'bigint', column => column.notNull())
    .addColumn('tokens', 'bigint', column => column.notNull())
    .addColumn('checksum', 'bigint')
    .execute()
  await sql`
    insert into usage_hours (hour_at, requests, tokens)
    select hour_at, cast(sum(requests) as bigint), cast(sum(tokens) as bigint) from (
      select hour_at, ok + cancelled + failed as requests,
        prompt_tokens + completion_tokens as tokens from usage_buckets
      union all
      select at - at % 3600000 as hour_at, case when status = 'discarded' then 0 else 1 end as requests,
        coalesce(prompt_tokens, 0) + coalesce(completion_tokens, 0) as tokens
      from usage where sealed = 0
    ) as used group by hour_at`.execute(db)
}

const deviceSeriesTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('device_series')
    .addColumn('device_id', 'text', column => column.notNull())
    .addColumn('property', 'text', column => column.notNull())
    .addColumn('resolution_seconds', 'integer', column => column.notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .addColumn('spans_json', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('device_series_key', [
      'device_id',
      'property',
      'resolution_seconds',
      'at',
    ])
    .execute()
  await schema
    .createIndex('device_series_by_time')
    .on('device_series')
    .columns(['resolution_seconds', 'at'])
    .execute()
}

const moduleResultTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('module_results')
    .addColumn('cell_id', 'text', column => column.notNull())
    .addColumn('module_id', 'text', column => column.notNull())
    .addColumn('run_id', 'text', column => column.notNull())
    .addColumn('part', 'integer', column => column.notNull())
    .addColumn('started_at', 'bigint', column => column.notNull())
    .addColumn('taken_at', 'bigint', column => column.notNull())
    .addColumn('elapsed_ms', 'bigint')
    .addColumn('outcome', 'text')
    .addColumn('reason', 'text')
    .addColumn('notes_json', 'text', column => column.notNull())
    .addColumn('rows_json', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('module_results_key', ['cell_id', 'module_id', 'run_id', 'part'])
    .execute()
  await schema
    .createIndex('module_results_by_module')
    .on('module_results')
    .columns(['module_id', 'taken_at'])
    .execute()
}

/** Adds time to first token, retries and refusals; older versions leave them out. */
const serviceQuality = async ({ schema }: Kysely<unknown>): Promise<void> => {
  for (const name of ['ttft_ms', 'retries'])
    await schema.alterTable('usage').addColumn(name, 'integer').execute()
  const bounds = [100, 250, 500, 1000, 2500, 5000, 10_000, 30_000].map(ms => `ttft_le_${ms}`)
  for (const sum of ['refused', 'unavailable', 'retries', 'ttft_count', 'ttft_ms', ...bounds])
    await schema
      .alterTable('usage_buckets')
      .addColumn(sum, 'bigint', column => column.notNull().defaultTo(0))
      .execute()
}

const callHourTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  let table = schema
    .createTable('call_hours')
    .addColumn('hour_at', 'bigint', column => column.notNull())
    .addColumn('tenant_id', 'text', column => column.notNull())
    .addColumn('operation_id', 'text', column => column.notNull())
  for (const sum of ['calls', 'errors', 'duration_ms'])
    table = table.addColumn(sum, 'bigint', column => column.notNull())
  await table
    .addPrimaryKeyConstraint('call_hours_key', ['hour_at', 'tenant_id', 'operation_id'])
    .execute()
}

/** Sums of usage by the day, for reports over months; sums by the hour of one model are found too. */
const usageDays = async (db: Kysely<unknown>): Promise<void> => {
  const sums = ['ok', 'cancelled', 'failed', 'prompt_tokens', 'cached_tokens', 'completion_tokens']
  sums.push('duration_ms', 'refused', 'unavailable', 'retries', 'ttft_count', 'ttft_ms')
  for (const ms of [100, 250, 500, 1000, 2500, 5000, 10_000, 30_000]) sums.push(`ttft_le_${ms}`)
  let table = db.schema
    .createTable('usage_days')
    .addColumn('day_at', 'bigint', column => column.notNull())
    .addColumn('key_id', 'text', column => column.notNull())
    .addColumn('tenant_id', 'text', column => column.notNull())
    .addColumn('model', 'text', column => column.notNull())
  for (const sum of sums)
    table = table.addColumn(sum, 'bigint', column => column.notNull().defaultTo(0))
  await table
    .addPrimaryKeyConstraint('usage_days_key', ['day_at', 'key_id', 'tenant_id', 'model'])
    .execute()
  for (const owner of ['key', 'tenant'])
    await db.schema
      .createIndex(`usage_days_by_${owner}`)
      .on('usage_days')
      .columns([`${owner}_id`, 'day_at'])
      .execute()
  await db.schema
    .createIndex('usage_buckets_by_model')
    .on('usage_buckets')
    .columns(['model', 'hour_at'])
    .execute()
  const added = sums.map(name => sql`cast(sum(${sql.ref(name)}) as bigint)`)
  await sql`
    insert into usage_days (day_at, key_id, tenant_id, model, ${sql.join(sums.map(name => sql.ref(name)))})
    select hour_at - hour_at % 86400000, key_id, tenant_id, model, ${sql.join(added)}
    from usage_buckets group by 1, 2, 3, 4`.execute(db)
}

/** Adds the duration of requests that generated tokens; of older sums, that of keys and models that did. */
const generationTime = async (db: Kysely<unknown>): Promise<void> => {
  for (const table of ['usage_buckets', 'usage_days']) {
    await db.schema
      .alterTable(table)
      .addColumn('generation_ms', 'bigint', column => column.notNull().defaultTo(0))
      .execute()
    await sql`update ${sql.table(table)} set generation_ms = duration_ms
      where completion_tokens > 0`.execute(db)
  }
}

/** Position of the GPU power in a stored bucket: `[at, samples, value | [value, known] ...]`. */
const POWER_AT = 11

type StoredBucket = (number | null | [number, number])[]

/** Sums of the power of all cells by the hour, from the series that are there. */
const powerHours = async (db: Kysely<unknown>): Promise<void> => {
  await db.schema
    .createTable('power_hours')
    .addColumn('hour_at', 'bigint', column => column.primaryKey().notNull())
    .addColumn('watt_hours', 'double precision', column => column.notNull())
    .addColumn('cells', 'bigint', column => column.notNull())
    .execute()
  const hours = new Map<number, { wattHours: number; cells: number }>()
  for (let [cellId, at] = ['', 0]; ; ) {
    const { rows } = await sql<{ cell_id: string; at: number; buckets_json: string }>`
      select cell_id, at, buckets_json from series
      where resolution_seconds = 3600 and (cell_id, at) > (${cellId}, ${at})
      order by cell_id, at limit 1000`.execute(db)
    for (const row of rows)
      for (const bucket of JSON.parse(row.buckets_json) as StoredBucket[]) {
        const stored = bucket[POWER_AT] ?? null
        const watts = Array.isArray(stored) ? stored[0] : stored
        if (watts === null) continue
        const { wattHours, cells } = hours.get(Number(bucket[0])) ?? { wattHours: 0, cells: 0 }
        hours.set(Number(bucket[0]), { wattHours: wattHours + watts, cells: cells + 1 })
      }
    const last = rows.at(-1)
    if (last === undefined) break
    cellId = last.cell_id
    at = last.at
  }
  for (const [hour, { wattHours, cells }] of hours)
    await sql`insert into power_hours (hour_at, watt_hours, cells)
      values (${hour}, ${wattHours}, ${cells})`.execute(db)
}

export const recordMigrations: Record<string, StoreMigration> = {
  '0001_usage': { up: usageTable },
  '0002_series': { up: seriesTables },
  '0003_usage_status': { up: usageByTime },
  '0004_usage_buckets': { up: usageBuckets },
  '0005_usage_hours': { up: usageHours, compatibleFrom: '0.1.0' },
  '0006_device_series': { up: deviceSeriesTable, compatibleFrom: '0.1.0' },
  '0007_module_results': { up: moduleResultTable, compatibleFrom: '0.1.0' },
  '0009_service_quality': { up: serviceQuality, compatibleFrom: '0.1.0' },
  '0010_call_hours': { up: callHourTable, compatibleFrom: '0.1.0' },
  '0013_usage_days': { up: usageDays, compatibleFrom: '0.1.0' },
  '0014_power_hours': { up: powerHours, compatibleFrom: '0.1.0' },
  '0015_generation_time': { up: generationTime, compatibleFrom: '0.1.0' },
}
