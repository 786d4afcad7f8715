import type { Kysely } from 'kysely'
import type { EngineSchema } from './engine.ts'

/* Gates and the policy. */

export const gateTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('gate_requests')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('gate_id', 'text', column => column.notNull())
    .addColumn('tenant_id', 'text', column => column.notNull().references('tenants.id'))
    .addColumn('requester_id', 'text', column => column.notNull())
    .addColumn('requester_key_id', 'text', column => column.notNull())
    .addColumn('subject', 'text', column => column.notNull())
    .addColumn('summary', 'text', column => column.notNull())
    .addColumn('plan_json', 'text', column => column.notNull())
    .addColumn('plan_hash', 'text', column => column.notNull())
    .addColumn('policy_hash', 'text', column => column.notNull())
    .addColumn('evidence_json', 'text', column => column.notNull())
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('created_at', 'bigint', column => column.notNull())
    .addColumn('expires_at', 'bigint', column => column.notNull())
    .addColumn('approved_at', 'bigint')
    .addColumn('approval_expires_at', 'bigint')
    .addColumn('consumed_at', 'bigint')
    .execute()
  const index = schema.createIndex('gate_requests_tenant').on('gate_requests')
  await index.columns(['tenant_id', 'gate_id', 'id']).execute()
  await schema
    .createIndex('gate_requests_open')
    .on('gate_requests')
    .columns(['tenant_id', 'requester_id', 'state', 'gate_id', 'subject'])
    .execute()
  await schema
    .createIndex('gate_requests_due')
    .on('gate_requests')
    .columns(['state', 'expires_at'])
    .execute()
  await schema
    .createTable('gate_votes')
    .addColumn('request_id', 'text', column => column.notNull().references('gate_requests.id'))
    .addColumn('person_id', 'text', column => column.notNull())
    .addColumn('decision', 'text', column => column.notNull())
    .addColumn('key_id', 'text', column => column.notNull())
    .addColumn('roles_json', 'text', column => column.notNull())
    .addColumn('reason', 'text', column => column.notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('gate_votes_key', ['request_id', 'person_id', 'decision'])
    .execute()
  await schema
    .createTable('clocks')
    .addColumn('name', 'text', column => column.primaryKey().notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .execute()
}

/** Adds the index for the requests of one person about one subject, across all gates. */
export const gateRequestsBySubject = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createIndex('gate_requests_subject')
    .on('gate_requests')
    .columns(['requester_id', 'subject', 'tenant_id', 'id'])
    .execute()
}

export const policyTable = async (
  db: Kysely<unknown>,
  { makeAppendOnly }: EngineSchema,
): Promise<void> => {
  let table = db.schema
    .createTable('policies')
    .addColumn('number', 'bigint', column => column.primaryKey().notNull())
  for (const name of ['version', 'hash', 'document_json', 'replaced_hash', 'configured_hash'])
    table = table.addColumn(name, 'text', column => column.notNull())
  await table
    .addColumn('request_id', 'text', column => column.references('gate_requests.id'))
    .addColumn('changed_by', 'text', column => column.notNull())
    .addColumn('changed_at', 'bigint', column => column.notNull())
    .addColumn('reason', 'text', column => column.notNull())
    .execute()
  await makeAppendOnly(db, 'policies')
}
