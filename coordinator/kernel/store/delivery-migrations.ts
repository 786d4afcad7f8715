import type { Kysely } from 'kysely'

/* Tables of what is done later and delivered outwards. */

export const jobTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('jobs')
    .addColumn('seq', 'bigint', column => column.primaryKey().notNull())
    .addColumn('id', 'text', column => column.notNull().unique())
    .addColumn('kind', 'text', column => column.notNull())
    .addColumn('tenant_id', 'text', column => column.references('tenants.id'))
    .addColumn('project', 'text')
    .addColumn('team', 'text')
    .addColumn('payload_json', 'text', column => column.notNull())
    .addColumn('priority', 'integer', column => column.notNull())
    .addColumn('cost_cents', 'bigint', column => column.notNull())
    .addColumn('lane', 'text')
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('not_before', 'bigint', column => column.notNull())
    .addColumn('due_at', 'bigint', column => column.notNull())
    .addColumn('attempts', 'integer', column => column.notNull())
    .addColumn('max_attempts', 'integer', column => column.notNull())
    .addColumn('worker', 'text')
    .addColumn('fence', 'bigint', column => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('once_key', 'text')
    .addColumn('created_at', 'bigint', column => column.notNull())
    .addColumn('changed_at', 'bigint', column => column.notNull())
    .addColumn('ended_at', 'bigint')
    .execute()
  const index = (name: string) => schema.createIndex(`jobs_${name}`).on('jobs')
  await index('due').columns(['kind', 'state', 'due_at']).execute()
  await index('lane').columns(['lane', 'state', 'seq']).execute()
  await index('tenant').columns(['tenant_id', 'seq']).execute()
  await index('ended').columns(['state', 'ended_at']).execute()
  await index('once').unique().columns(['kind', 'once_key']).execute()
}

export const webhookTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('webhooks')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('tenant_id', 'text', column => column.notNull().references('tenants.id'))
    .addColumn('url', 'text', column => column.notNull())
    .addColumn('types_json', 'text', column => column.notNull())
    .addColumn('label', 'text', column => column.notNull())
    .addColumn('secret_sealed', 'text', column => column.notNull())
    .addColumn('previous_sealed', 'text')
    .addColumn('previous_until', 'bigint')
    .addColumn('disabled_at', 'bigint')
    .addColumn('disabled_reason', 'text')
    .addColumn('dead_in_row', 'integer', column => column.notNull())
    .addColumn('delivered_at', 'bigint')
    .addColumn('created_by', 'text', column => column.notNull())
    .addColumn('created_at', 'bigint', column => column.notNull())
    .addColumn('changed_at', 'bigint', column => column.notNull())
    .execute()
  await schema.createIndex('webhooks_tenant').on('webhooks').columns(['tenant_id', 'id']).execute()
}

export const idempotencyTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('idempotent_calls')
    .addColumn('scope', 'text', column => column.notNull())
    .addColumn('call_key', 'text', column => column.notNull())
    .addColumn('fingerprint', 'text', column => column.notNull())
    .addColumn('claim', 'text', column => column.notNull())
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('answer_sealed', 'text')
    .addColumn('lease_until', 'bigint', column => column.notNull())
    .addColumn('created_at', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('idempotent_calls_key', ['scope', 'call_key'])
    .execute()
  await schema
    .createIndex('idempotent_calls_age')
    .on('idempotent_calls')
    .column('created_at')
    .execute()
}

export const callCreations = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema.alterTable('idempotent_calls').addColumn('created_json', 'text').execute()
}
