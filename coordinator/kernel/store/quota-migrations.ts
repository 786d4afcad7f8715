import { type Kysely, sql } from 'kysely'
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

/** Creates the tables of minutes, unlogged at first; see `loggedMinutes`. */
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
  await db.schema
    .createTable('minute_birth')
    .addColumn('id', 'integer', column => column.primaryKey().notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .execute()
  for (const table of ['minute_subjects', 'minute_slots', 'minute_birth'])
    await engine.makeUnlogged(db, table)
  await sql`insert into minute_birth (id, at) values (1, 0)`.execute(db)
}

/**
 * Makes the tables of minutes logged, so that a crash of the server loses no count; `history` tells
 * the takeover by a standby, after which each coordinator reports its counts once.
 */
export const logMinutes = async (db: Kysely<unknown>, engine: EngineSchema): Promise<void> => {
  for (const table of ['minute_subjects', 'minute_slots', 'minute_birth'])
    await engine.makeLogged(db, table)
  await db.schema
    .alterTable('minute_birth')
    .addColumn('history', 'text', column => column.notNull().defaultTo(''))
    .execute()
  await db.schema
    .createTable('minute_reports')
    .addColumn('replica', 'text', column => column.primaryKey().notNull())
    .addColumn('birth', 'bigint', column => column.notNull())
    .execute()
}

export const recallTable = async (db: Kysely<unknown>, engine: EngineSchema): Promise<void> => {
  await db.schema
    .createTable('quota_recalls')
    .addColumn('subject', 'text', column => column.primaryKey().notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .execute()
  await engine.makeUnlogged(db, 'quota_recalls')
}

/** Expected totals of the usage records by hour; see `quota/usage-anchors.ts`. */
export const usageAnchorTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('usage_anchors')
    .addColumn('hour_at', 'bigint', column => column.primaryKey().notNull())
    .addColumn('requests', 'bigint', column => column.notNull())
    .addColumn('tokens', 'bigint', column => column.notNull())
    .execute()
}
