import type { Kysely } from 'kysely'

/** Models that operators added to those of the configuration. */
export const modelTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('models')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('entry_json', 'text')
    .addColumn('alias_of', 'text')
    .addColumn('cells_json', 'text', column => column.notNull())
    .addColumn('version', 'bigint', column => column.notNull())
    .addColumn('removed', 'integer', column => column.notNull())
    .addColumn('changed_at', 'bigint', column => column.notNull())
    .addColumn('changed_by', 'text', column => column.notNull())
    .execute()
}
