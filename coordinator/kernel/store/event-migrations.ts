import type { Kysely } from 'kysely'

/* Events, and what they report of cells and alerts. */

export const eventTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('events')
    .addColumn('seq', 'bigint', column => column.primaryKey().notNull())
    .addColumn('type', 'text', column => column.notNull())
    .addColumn('source', 'text', column => column.notNull())
    .addColumn('subject', 'text')
    .addColumn('at', 'bigint', column => column.notNull())
    .addColumn('data_json', 'text', column => column.notNull())
    .execute()
  await schema
    .createTable('event_cursors')
    .addColumn('name', 'text', column => column.primaryKey().notNull())
    .addColumn('seq', 'bigint', column => column.notNull())
    .execute()
}

export const cellPresenceTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('cell_views')
    .addColumn('cell_id', 'text', column => column.notNull())
    .addColumn('replica_id', 'text', column => column.notNull())
    .addColumn('presence', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('cell_views_key', ['cell_id', 'replica_id'])
    .execute()
  await schema
    .createTable('cell_presence')
    .addColumn('cell_id', 'text', column => column.primaryKey().notNull())
    .addColumn('presence', 'text', column => column.notNull())
    .addColumn('told_at', 'bigint', column => column.notNull())
    .execute()
}

/** An index that skips what was cleared lets no condition be raised twice. */
export const alertTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('alerts')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('rule', 'text', column => column.notNull())
    .addColumn('cell_id', 'text', column => column.notNull())
    .addColumn('part', 'text', column => column.notNull())
    .addColumn('message', 'text', column => column.notNull())
    .addColumn('raised_at', 'bigint', column => column.notNull())
    .addColumn('cleared_at', 'bigint')
    .addColumn('acknowledged_by', 'text')
    .addColumn('acknowledged_at', 'bigint')
    .addColumn('note', 'text')
    .execute()
  await schema
    .createIndex('alerts_raised')
    .unique()
    .on('alerts')
    .columns(['rule', 'cell_id', 'part'])
    .where('cleared_at' as never, 'is', null)
    .execute()
}

/** Webhooks that take less than they are sent. */
export const slowWebhooks = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema.alterTable('webhooks').addColumn('slowed_at', 'bigint').execute()
}

/** Events before it do not go to the webhook. */
export const webhookStart = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .alterTable('webhooks')
    .addColumn('after_seq', 'bigint', column => column.notNull().defaultTo(0))
    .execute()
}
