import type { Kysely } from 'kysely'

export const estopTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('estops')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('scope', 'text', column => column.notNull())
    .addColumn('target', 'text')
    .addColumn('cell_id', 'text')
    .addColumn('is_local', 'integer', column => column.notNull())
    .addColumn('engaged_at', 'bigint', column => column.notNull())
    .addColumn('engaged_by', 'text', column => column.notNull())
    .addColumn('reason', 'text', column => column.notNull())
    .addColumn('released_at', 'bigint')
    .addColumn('released_by', 'text')
    .addColumn('release_reason', 'text')
    .execute()
  await schema.createIndex('estops_released').on('estops').column('released_at').execute()
}

/** What each cell has latched; a report replaces the one before. */
export const estopReportTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('estop_reports')
    .addColumn('cell_id', 'text', column => column.primaryKey().notNull())
    .addColumn('version', 'bigint', column => column.notNull())
    .addColumn('latched_json', 'text', column => column.notNull())
    .addColumn('failed_json', 'text', column => column.notNull())
    .addColumn('reported_at', 'bigint', column => column.notNull())
    .execute()
}
