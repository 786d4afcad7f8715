import type { Kysely } from 'kysely'

/* Records that operators keep. */

export const registerTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('register_records')
    .addColumn('tenant_id', 'text', column => column.notNull())
    .addColumn('register', 'text', column => column.notNull())
    .addColumn('id', 'text', column => column.notNull())
    .addColumn('record_json', 'text', column => column.notNull())
    .addColumn('revision', 'bigint', column => column.notNull())
    .addColumn('is_example', 'bigint', column => column.notNull())
    .addColumn('import_id', 'text')
    .addColumn('changed_at', 'bigint', column => column.notNull())
    .addColumn('changed_by', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('register_records_key', ['tenant_id', 'register', 'id'])
    .execute()
  await schema
    .createIndex('register_records_example')
    .on('register_records')
    .columns(['tenant_id', 'is_example'])
    .execute()
}
