import type { Kysely } from 'kysely'
import type { EngineSchema } from './engine.ts'

export const quotaTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('quotas')
    .addColumn('month', 'text', column => column.notNull())
    .addColumn('subject', 'text', column => column.notNull())
    .addColumn('reserved', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('quotas_key', ['month', 'subject'])
    .execute()
}

/** Unlogged: a count of the last minute is worth nothing after a crash of the server. */
export const minuteTables = async (db: Kysely<unknown>, engine: EngineSchema): Promise<void> => {
  await db.schema
    .createTable('minute_subjects')
    .addColumn('subject', 'text', column => column.primaryKey().notNull())
    .execute()
  await db.schema
    .createTable('minute_slots')
    .addColumn('subject', 'text', column => column.notNull())
    .addColumn('slot', 'bigint', column => column.notNull())
    .addColumn('replica', 'text', column => column.notNull())
    .addColumn('starts', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('minute_slots_key', ['subject', 'slot', 'replica'])
    .execute()
  for (const table of ['minute_subjects', 'minute_slots']) await engine.makeUnlogged(db, table)
}

export const recallTable = async (db: Kysely<unknown>, engine: EngineSchema): Promise<void> => {
  await db.schema
    .createTable('quota_recalls')
    .addColumn('subject', 'text', column => column.primaryKey().notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .execute()
  await engine.makeUnlogged(db, 'quota_recalls')
}
