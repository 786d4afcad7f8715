import type { Kysely } from 'kysely'

/** Work that recurs. */
export const scheduleTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('schedules')
    .addColumn('name', 'text', column => column.primaryKey().notNull())
    .addColumn('kind', 'text', column => column.notNull())
    .addColumn('payload_json', 'text', column => column.notNull())
    .addColumn('tenant_id', 'text', column => column.references('tenants.id'))
    .addColumn('expression', 'text', column => column.notNull())
    .addColumn('time_zone', 'text', column => column.notNull())
    .addColumn('jitter_seconds', 'integer', column => column.notNull())
    .addColumn('grace_seconds', 'integer', column => column.notNull())
    .addColumn('enabled', 'integer', column => column.notNull())
    .addColumn('next_at', 'bigint')
    .addColumn('due_at', 'bigint')
    .addColumn('last_at', 'bigint')
    .addColumn('last_job_id', 'text')
    .addColumn('runs', 'bigint', column => column.notNull())
    .addColumn('missed', 'bigint', column => column.notNull())
    .addColumn('created_at', 'bigint', column => column.notNull())
    .addColumn('changed_at', 'bigint', column => column.notNull())
    .execute()
  await schema.createIndex('schedules_due').on('schedules').columns(['enabled', 'due_at']).execute()
}
