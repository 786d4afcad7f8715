import type { Kysely } from 'kysely'

export const storeResponses = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('stored_responses')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('key_id', 'text', column => column.notNull())
    .addColumn('tenant_id', 'text', column => column.notNull())
    .addColumn('created_at', 'bigint', column => column.notNull())
    .addColumn('expires_at', 'bigint', column => column.notNull())
    .addColumn('input_json', 'text', column => column.notNull())
    .addColumn('response_json', 'text', column => column.notNull())
    .execute()
  await schema
    .createIndex('stored_responses_key')
    .on('stored_responses')
    .columns(['key_id', 'created_at'])
    .execute()
  await schema
    .createIndex('stored_responses_end')
    .on('stored_responses')
    .column('expires_at')
    .execute()
}
