import { type Kysely, sql } from 'kysely'

/* Things that discovery found, and how they change. */

export const entityTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
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

export const entityPages = async ({ schema }: Kysely<unknown>): Promise<void> => {
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

export const entityDeltas = async ({ schema }: Kysely<unknown>): Promise<void> => {
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

/** Parts that are stored, so that a message that arrives again is recognised. */
export const entityRunParts = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .alterTable('discovery_scanners')
    .addColumn('newest_run_id', 'text', column => column.notNull().defaultTo(''))
    .execute()
  for (const name of ['newest_started_at', 'newest_parts', 'newest_is_whole'])
    await schema
      .alterTable('discovery_scanners')
      .addColumn(name, 'bigint', column => column.notNull().defaultTo(0))
      .execute()
}

/** Cells in whose share entities count. */
export const entityHolders = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .alterTable('discovery_traces')
    .addColumn('born_by', 'text', column => column.notNull().defaultTo(''))
    .execute()
  await schema
    .alterTable('discovery_entities')
    .addColumn('holder', 'text', column => column.notNull().defaultTo(''))
    .execute()
  await schema
    .alterTable('discovery_entities')
    .addColumn('keep_rank', 'bigint', column => column.notNull().defaultTo(0))
    .execute()
  await schema
    .createIndex('discovery_entities_holder')
    .on('discovery_entities')
    .columns(['holder', 'keep_rank', 'last_at'])
    .execute()
}

export const entityScanners = async ({ schema }: Kysely<unknown>): Promise<void> => {
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

/**
 * Tables whose rows had personal addresses, or ids made from them without a key. A store to which
 * the migration of the last two was applied first has these already.
 */
const UNKEYED = [
  'discovery_seen',
  'discovery_scanners',
  'discovery_links',
  'discovery_trace_names',
  'discovery_traces',
  'discovery_entities',
  'discovery_pins',
  'discovery_deltas',
  'discovery_entity_sources',
  'discovery_entity_words',
] as const

/**
 * Deletes all discovered entities: ids and addresses without a key cannot be made anonymous afterwards, because
 * the id of a trace follows from its keys. Scans find the things again.
 */
export const entityPseudonyms = async (db: Kysely<unknown>): Promise<void> => {
  const existing = new Set((await db.introspection.getTables()).map(({ name }) => name))
  for (const table of UNKEYED.filter(each => existing.has(each)))
    await sql`delete from ${sql.table(table)}`.execute(db)
  await sql`update events set data_json = '{}' where type like 'shoal.discovery.%'`.execute(db)
  await db.schema
    .alterTable('discovery_traces')
    .addColumn('hostnames_json', 'text', column => column.notNull().defaultTo('[]'))
    .execute()
}

/** Keys that several carry, a row for each trace that does. */
export const entityKeyAlarms = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('discovery_key_alarms')
    .addColumn('key', 'text', column => column.notNull())
    .addColumn('trace_id', 'text', column => column.notNull())
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('discovery_key_alarms_key', ['key', 'trace_id'])
    .execute()
  await schema
    .createIndex('discovery_key_alarms_trace')
    .on('discovery_key_alarms')
    .column('trace_id')
    .execute()
}

/** Indexes of pages and of the deltas of a period, and what entities are found by. */
export const entityReads = async ({ schema }: Kysely<unknown>): Promise<void> => {
  for (const column of ['last_at', 'type', 'risk_level'])
    await schema.dropIndex(`discovery_entities_${column}`).execute()
  const filters = [[], ['type'], ['risk_level'], ['type', 'risk_level'], ['is_present']]
  for (const columns of filters)
    await schema
      .createIndex(['discovery_entities_newest', ...columns].join('_'))
      .on('discovery_entities')
      .columns([...columns, 'last_at desc', 'id'])
      .execute()
  await schema.dropIndex('discovery_deltas_at').execute()
  const periods = { first: ['at', 'seq'], counts: ['kind', 'at'] }
  for (const [name, columns] of Object.entries(periods))
    await schema
      .createIndex(`discovery_deltas_${name}`)
      .on('discovery_deltas')
      .columns(columns)
      .execute()
  await schema
    .createTable('discovery_entity_sources')
    .addColumn('entity_id', 'text', column => column.notNull())
    .addColumn('source', 'text', column => column.notNull())
    .addColumn('last_at', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('discovery_entity_sources_key', ['entity_id', 'source'])
    .execute()
  await schema
    .createIndex('discovery_entity_sources_newest')
    .on('discovery_entity_sources')
    .columns(['source', 'last_at desc', 'entity_id'])
    .execute()
  await schema
    .createTable('discovery_entity_words')
    .addColumn('entity_id', 'text', column => column.notNull())
    .addColumn('word', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('discovery_entity_words_key', ['entity_id', 'word'])
    .execute()
  await schema
    .createIndex('discovery_entity_words_word')
    .on('discovery_entity_words')
    .columns(['word', 'entity_id'])
    .execute()
}

/** Index of the entities that are judged again after their first day; stored ones are judged once. */
export const entityFirstSeen = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .alterTable('discovery_entities')
    .addColumn('is_new', 'bigint', column => column.notNull().defaultTo(1))
    .execute()
  await schema
    .createIndex('discovery_entities_new')
    .on('discovery_entities')
    .columns(['is_new', 'first_at'])
    .execute()
}
