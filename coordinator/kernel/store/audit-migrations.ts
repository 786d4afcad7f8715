import type { Kysely } from 'kysely'
import type { EngineSchema } from './engine.ts'

export const auditTable = async (
  db: Kysely<unknown>,
  { makeAppendOnly }: EngineSchema,
): Promise<void> => {
  await db.schema
    .createTable('audit')
    .addColumn('seq', 'bigint', column => column.primaryKey().notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .addColumn('actor', 'text', column => column.notNull())
    .addColumn('tenant', 'text')
    .addColumn('action', 'text', column => column.notNull())
    .addColumn('subject', 'text', column => column.notNull())
    .addColumn('outcome', 'text', column => column.notNull())
    .addColumn('details_json', 'text', column => column.notNull())
    .addColumn('request_id', 'text')
    .addColumn('prev', 'text', column => column.notNull())
    .addColumn('hash', 'text', column => column.notNull())
    .execute()
  await db.schema.createIndex('audit_at').on('audit').column('at').execute()
  await makeAppendOnly(db, 'audit')
}

/** The checkpoint of the rows that were purged, and the mark of an audit that is in doubt. */
export const auditCheckpoints = async (
  db: Kysely<unknown>,
  { allowPurge }: EngineSchema,
): Promise<void> => {
  await db.schema
    .createTable('audit_checkpoint')
    .addColumn('id', 'integer', column => column.primaryKey().notNull())
    .addColumn('seq', 'bigint', column => column.notNull())
    .addColumn('hash', 'text', column => column.notNull())
    .addColumn('rows', 'bigint', column => column.notNull())
    .addColumn('first_at', 'bigint', column => column.notNull())
    .addColumn('last_at', 'bigint', column => column.notNull())
    .addColumn('retention_days', 'integer', column => column.notNull())
    .addColumn('made_at', 'bigint', column => column.notNull())
    .addColumn('key_id', 'text', column => column.notNull())
    .addColumn('signature', 'text', column => column.notNull())
    .execute()
  await db.schema
    .createTable('audit_trouble')
    .addColumn('id', 'integer', column => column.primaryKey().notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .addColumn('reason', 'text', column => column.notNull())
    .execute()
  await allowPurge(db, { table: 'audit', upTo: 'audit_checkpoint' })
}
