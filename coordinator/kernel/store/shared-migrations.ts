import { type Kysely, type RawBuilder, sql } from 'kysely'

/* What several processes share whatever their subject: leases and sequences. */

export const leaseTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('leases')
    .addColumn('name', 'text', column => column.primaryKey().notNull())
    .addColumn('owner', 'text', column => column.notNull())
    .addColumn('epoch', 'bigint', column => column.notNull())
    .addColumn('until', 'bigint', column => column.notNull())
    .execute()
}

/** One row per sequence, filled from the numbers that were given before there was the table. */
export const sequenceTable = async (db: Kysely<unknown>): Promise<void> => {
  await db.schema
    .createTable('sequences')
    .addColumn('name', 'text', column => column.primaryKey().notNull())
    .addColumn('value', 'bigint', column => column.notNull())
    .execute()
  const fill = (rows: RawBuilder<unknown>) =>
    sql`insert into sequences (name, value) ${rows}`.execute(db)
  for (const [name, table, column] of NUMBERED)
    await fill(sql`select ${sql.lit(name)}, max(${sql.ref(column)}) from ${sql.table(table)}
      having count(*) > 0`)
  await fill(sql`select 'command-fence:' || cell_id, fence from command_fences`)
  await fill(sql`select 'peer-fence:' || tenant_id || ':' || role, fence from operator_fences`)
  for (const table of ['command_fences', 'operator_fences'])
    await db.schema.dropTable(table).execute()
}

export const replicaTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('replicas')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('address', 'text')
    .addColumn('version', 'text', column => column.notNull())
    .addColumn('started_at', 'bigint', column => column.notNull())
    .addColumn('until', 'bigint', column => column.notNull())
    .execute()
}

/** Secrets that all coordinators of a store share, encrypted; see `coordinator/kernel/secrets/`. */
export const secretTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('secrets')
    .addColumn('name', 'text', column => column.primaryKey().notNull())
    .addColumn('key_id', 'text', column => column.notNull())
    .addColumn('sealed', 'text', column => column.notNull())
    .addColumn('version', 'bigint', column => column.notNull())
    .addColumn('changed_at', 'bigint', column => column.notNull())
    .execute()
}

/** The keys in `sealing.key` of each coordinator, by their ids. */
export const replicaKeyTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('replica_keys')
    .addColumn('replica_id', 'text', column => column.primaryKey().notNull())
    .addColumn('key_ids_json', 'text', column => column.notNull())
    .execute()
}

const NUMBERED = [
  ['audit', 'audit', 'seq'],
  ['jobs', 'jobs', 'seq'],
  ['conversations', 'conversations', 'seq'],
  ['configs', 'configs', 'version'],
  ['policies', 'policies', 'number'],
] as const
