import type { Kysely } from 'kysely'

/* Tenants, persons and keys. */

export const ledgerTables = async (db: Kysely<unknown>): Promise<void> => {
  const { schema } = db
  await schema
    .createTable('revisions')
    .addColumn('name', 'text', column => column.primaryKey().notNull())
    .addColumn('value', 'bigint', column => column.notNull())
    .execute()
  await schema
    .createTable('tenants')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('name', 'text', column => column.notNull())
    .addColumn('created_at', 'bigint', column => column.notNull())
    .execute()
  await schema
    .createTable('persons')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('tenant_id', 'text', column => column.notNull().references('tenants.id'))
    .addColumn('name', 'text', column => column.notNull())
    .addColumn('created_at', 'bigint', column => column.notNull())
    .execute()
  await schema.createIndex('persons_tenant').on('persons').column('tenant_id').execute()
}

export const keyTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('keys')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('digest', 'text', column => column.notNull())
    .addColumn('previous_digest', 'text')
    .addColumn('tenant_id', 'text', column => column.notNull().references('tenants.id'))
    .addColumn('further_tenants_json', 'text', column => column.notNull())
    .addColumn('person_id', 'text', column => column.notNull().references('persons.id'))
    .addColumn('tier', 'text', column => column.notNull())
    .addColumn('roles_json', 'text', column => column.notNull())
    .addColumn('kind', 'text', column => column.notNull())
    .addColumn('label', 'text', column => column.notNull())
    .addColumn('created_at', 'bigint', column => column.notNull())
    .addColumn('expires_at', 'bigint')
    .addColumn('revoked_at', 'bigint')
    .addColumn('last_used_at', 'bigint')
    .execute()
  await schema.createIndex('keys_tenant').on('keys').column('tenant_id').execute()
}

export const disablePeople = async ({ schema }: Kysely<unknown>): Promise<void> => {
  for (const table of ['persons', 'tenants'])
    await schema.alterTable(table).addColumn('disabled_at', 'bigint').execute()
}

export const keyClaims = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('key_claims')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('digest', 'text', column => column.notNull())
    .addColumn('requester_id', 'text', column => column.notNull())
    .addColumn('tenant_id', 'text', column => column.notNull().references('tenants.id'))
    .addColumn('created_at', 'bigint', column => column.notNull())
    .addColumn('expires_at', 'bigint', column => column.notNull())
    .execute()
  await schema.createIndex('key_claims_end').on('key_claims').column('expires_at').execute()
}

export const visitorRequests = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('visitor_requests')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('address_digest', 'text', column => column.notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .execute()
  await schema
    .createIndex('visitor_requests_address')
    .on('visitor_requests')
    .columns(['address_digest', 'at'])
    .execute()
}

export const strictKeys = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema.alterTable('keys').addColumn('strict', 'bigint').execute()
}
