import type { Kysely } from 'kysely'

/* Things that discovery found, and how they change. */

export const registryTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
  let traces = schema
    .createTable('discovery_traces')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
  for (const name of ['entity_id', 'founded_id', 'site', 'keys_json', 'spans_json', 'claims_json'])
    traces = traces.addColumn(name, 'text', column => column.notNull())
  await traces
    .addColumn('born_at', 'bigint', column => column.notNull())
    .addColumn('last_at', 'bigint', column => column.notNull())
    .addColumn('is_shared', 'integer', column => column.notNull())
    .execute()
  for (const column of ['entity_id', 'last_at'])
    await schema
      .createIndex(`discovery_traces_${column}`)
      .on('discovery_traces')
      .column(column)
      .execute()
  await schema
    .createTable('discovery_trace_names')
    .addColumn('name', 'text', column => column.notNull())
    .addColumn('trace_id', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('discovery_trace_names_key', ['name', 'trace_id'])
    .execute()
  await schema
    .createIndex('discovery_trace_names_trace')
    .on('discovery_trace_names')
    .column('trace_id')
    .execute()
  await schema
    .createTable('discovery_links')
    .addColumn('a', 'text', column => column.notNull())
    .addColumn('b', 'text', column => column.notNull())
    .addColumn('kind', 'text', column => column.notNull())
    .addColumn('distance_s', 'bigint', column => column.notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('discovery_links_key', ['a', 'b'])
    .execute()
  await schema.createIndex('discovery_links_b').on('discovery_links').column('b').execute()
}

export const registryEntities = async ({ schema }: Kysely<unknown>): Promise<void> => {
  let entities = schema
    .createTable('discovery_entities')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
  for (const name of ['type', 'risk_level', 'sources', 'description_json'])
    entities = entities.addColumn(name, 'text', column => column.notNull())
  for (const name of ['risk_points', 'is_present', 'first_at', 'last_at'])
    entities = entities.addColumn(name, 'bigint', column => column.notNull())
  await entities.execute()
  for (const column of ['last_at', 'first_at', 'type', 'risk_level'])
    await schema
      .createIndex(`discovery_entities_${column}`)
      .on('discovery_entities')
      .columns(column === 'last_at' ? [column, 'id'] : [column])
      .execute()
  let pins = schema
    .createTable('discovery_pins')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
  for (const name of ['kind', 'entity_id', 'body_json', 'actor'])
    pins = pins.addColumn(name, 'text', column => column.notNull())
  await pins.addColumn('at', 'bigint', column => column.notNull()).execute()
}

export const registryDeltas = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('discovery_deltas')
    .addColumn('seq', 'bigint', column => column.primaryKey().notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .addColumn('kind', 'text', column => column.notNull())
    .addColumn('entity_id', 'text', column => column.notNull())
    .addColumn('body_json', 'text', column => column.notNull())
    .execute()
  for (const column of ['at', 'entity_id'])
    await schema
      .createIndex(`discovery_deltas_${column}`)
      .on('discovery_deltas')
      .column(column)
      .execute()
}

export const registryScanners = async ({ schema }: Kysely<unknown>): Promise<void> => {
  let scanners = schema
    .createTable('discovery_scanners')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
  for (const name of ['cell_id', 'module', 'run_id'])
    scanners = scanners.addColumn(name, 'text', column => column.notNull())
  await scanners
    .addColumn('runs', 'bigint', column => column.notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .execute()
  await schema
    .createTable('discovery_seen')
    .addColumn('scanner_id', 'text', column => column.notNull())
    .addColumn('trace_id', 'text', column => column.notNull())
    .addColumn('run', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('discovery_seen_key', ['scanner_id', 'trace_id'])
    .execute()
  await schema
    .createIndex('discovery_seen_run')
    .on('discovery_seen')
    .columns(['scanner_id', 'run'])
    .execute()
  await schema.createIndex('discovery_seen_trace').on('discovery_seen').column('trace_id').execute()
}
