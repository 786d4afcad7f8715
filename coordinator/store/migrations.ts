import type { Kysely } from 'kysely'
import type { Migration } from 'kysely/migration'
import { makeAppendOnly } from './sqlite.ts'

/* Migrations by name, in order. One that was released is never changed; a new one is added. */

const ledgerTables = async (db: Kysely<unknown>): Promise<void> => {
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

const keyTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
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

const cellTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('join_tokens')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('digest', 'text', column => column.notNull())
    .addColumn('uses', 'integer', column => column.notNull())
    .addColumn('uses_left', 'integer', column => column.notNull())
    .addColumn('created_at', 'bigint', column => column.notNull())
    .addColumn('expires_at', 'bigint', column => column.notNull())
    .addColumn('revoked_at', 'bigint')
    .execute()
  await schema
    .createTable('cells')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('name', 'text', column => column.notNull())
    .addColumn('digest', 'text', column => column.notNull())
    .addColumn('token_id', 'text', column => column.notNull().references('join_tokens.id'))
    .addColumn('enrolled_at', 'bigint', column => column.notNull())
    .addColumn('revoked_at', 'bigint')
    .addColumn('epoch', 'bigint', column => column.notNull())
    .execute()
}

const quotaTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('quotas')
    .addColumn('month', 'text', column => column.notNull())
    .addColumn('subject', 'text', column => column.notNull())
    .addColumn('reserved', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('quotas_key', ['month', 'subject'])
    .execute()
}

const auditTable = async (db: Kysely<unknown>): Promise<void> => {
  await db.schema
    .createTable('audit')
    .addColumn('seq', 'bigint', column => column.primaryKey().notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .addColumn('actor', 'text', column => column.notNull())
    .addColumn('tenant', 'text')
    .addColumn('action', 'text', column => column.notNull())
    .addColumn('subject', 'text', column => column.notNull())
    .addColumn('outcome', 'text', column => column.notNull())
    .addColumn('details_json', 'text', column => column.notNull())
    .addColumn('request_id', 'text')
    .addColumn('prev', 'text', column => column.notNull())
    .addColumn('hash', 'text', column => column.notNull())
    .execute()
  await db.schema.createIndex('audit_at').on('audit').column('at').execute()
  await makeAppendOnly(db, 'audit')
}

const cellIdentity = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .alterTable('join_tokens')
    .addColumn('role', 'text', column => column.notNull().defaultTo('cell'))
    .execute()
  await schema
    .alterTable('join_tokens')
    .addColumn('tags_json', 'text', column => column.notNull().defaultTo('[]'))
    .execute()
  const cells = schema.alterTable('cells')
  await cells.addColumn('next_digest', 'text').execute()
  await cells.addColumn('renewed_at', 'bigint', column => column.notNull().defaultTo(0)).execute()
  await cells.addColumn('public_key', 'text').execute()
  await cells.addColumn('tags_json', 'text', column => column.notNull().defaultTo('[]')).execute()
  await cells.addColumn('quarantined_at', 'bigint').execute()
}

const usageTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('usage')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('request_id', 'text', column => column.notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .addColumn('key_id', 'text', column => column.notNull())
    .addColumn('tenant_id', 'text', column => column.notNull())
    .addColumn('model', 'text', column => column.notNull())
    .addColumn('cell_id', 'text', column => column.notNull())
    .addColumn('route', 'text', column => column.notNull())
    .addColumn('status', 'text', column => column.notNull())
    .addColumn('prompt_tokens', 'integer')
    .addColumn('completion_tokens', 'integer')
    .addColumn('duration_ms', 'integer', column => column.notNull())
    .execute()
  await schema.createIndex('usage_key').on('usage').columns(['key_id', 'at']).execute()
  await schema.createIndex('usage_tenant').on('usage').columns(['tenant_id', 'at']).execute()
}

const cellSettingsTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('cell_settings')
    .addColumn('cell_id', 'text', column => column.primaryKey().notNull().references('cells.id'))
    .addColumn('drained_at', 'bigint')
    .addColumn('labels_json', 'text', column => column.notNull())
    .execute()
}

const seriesTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('series')
    .addColumn('cell_id', 'text', column => column.notNull())
    .addColumn('resolution_seconds', 'integer', column => column.notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .addColumn('buckets_json', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('series_key', ['cell_id', 'resolution_seconds', 'at'])
    .execute()
  await schema
    .createTable('series_cells')
    .addColumn('cell_id', 'text', column => column.primaryKey().notNull())
    .addColumn('late_until', 'bigint', column => column.notNull())
    .execute()
}

/** For the requests of the last hour. */
const usageByTime = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema.createIndex('usage_status').on('usage').columns(['status', 'at']).execute()
}

/** Sealed hours of usage, and which rows are in one already. */
const usageBuckets = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema.alterTable('usage').addColumn('cached_tokens', 'integer').execute()
  await schema
    .alterTable('usage')
    .addColumn('sealed', 'integer', column => column.notNull().defaultTo(0))
    .execute()
  await schema.createIndex('usage_sealed').on('usage').columns(['sealed', 'at', 'id']).execute()
  let table = schema
    .createTable('usage_buckets')
    .addColumn('hour_at', 'bigint', column => column.notNull())
    .addColumn('key_id', 'text', column => column.notNull())
    .addColumn('tenant_id', 'text', column => column.notNull())
    .addColumn('model', 'text', column => column.notNull())
  for (const sum of ['ok', 'cancelled', 'failed', 'prompt_tokens', 'cached_tokens'])
    table = table.addColumn(sum, 'bigint', column => column.notNull())
  for (const sum of ['completion_tokens', 'duration_ms'])
    table = table.addColumn(sum, 'bigint', column => column.notNull())
  await table
    .addPrimaryKeyConstraint('usage_buckets_key', ['hour_at', 'key_id', 'tenant_id', 'model'])
    .execute()
  for (const owner of ['key', 'tenant'])
    await schema
      .createIndex(`usage_buckets_${owner}`)
      .on('usage_buckets')
      .columns([`${owner}_id`, 'hour_at'])
      .execute()
}

const commandTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('commands')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('cell_id', 'text', column => column.notNull().references('cells.id'))
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('message', 'text')
    .addColumn('result_json', 'text')
    .addColumn('issued_at', 'bigint', column => column.notNull())
    .addColumn('updated_at', 'bigint', column => column.notNull())
    .addColumn('timeout_ms', 'integer', column => column.notNull())
    .addColumn('sends', 'integer', column => column.notNull())
    .addColumn('requested_by', 'text', column => column.notNull())
    .addColumn('signed_json', 'text', column => column.notNull())
    .execute()
  await schema.createIndex('commands_cell').on('commands').columns(['cell_id', 'id']).execute()
  await schema.createIndex('commands_state').on('commands').column('state').execute()
  await schema
    .createTable('command_fences')
    .addColumn('cell_id', 'text', column => column.primaryKey().notNull())
    .addColumn('fence', 'bigint', column => column.notNull())
    .execute()
}

const configTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('configs')
    .addColumn('scope', 'text', column => column.notNull())
    .addColumn('name', 'text', column => column.notNull())
    .addColumn('version', 'bigint', column => column.notNull())
    .addColumn('document_json', 'text', column => column.notNull())
    .addColumn('changed_at', 'bigint', column => column.notNull())
    .addColumn('changed_by', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('configs_key', ['scope', 'name'])
    .execute()
}

const probeTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('probe')
    .addColumn('id', 'integer', column => column.primaryKey().notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .execute()
}

const pastCredentials = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('past_credentials')
    .addColumn('cell_id', 'text', column => column.notNull().references('cells.id'))
    .addColumn('digest', 'text', column => column.notNull())
    .addColumn('replaced_at', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('past_credentials_key', ['cell_id', 'digest'])
    .execute()
}

const cellOwner = async ({ schema }: Kysely<unknown>): Promise<void> => {
  const settings = schema.alterTable('cell_settings')
  await settings.addColumn('tenant_id', 'text', column => column.references('tenants.id')).execute()
  await settings
    .addColumn('exclusive', 'integer', column => column.notNull().defaultTo(0))
    .execute()
}

const gateTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
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

export const ledgerMigrations: Record<string, Migration> = {
  '0001_tenants_and_persons': { up: ledgerTables },
  '0002_keys': { up: keyTables },
  '0003_cells': { up: cellTables },
  '0004_quotas': { up: quotaTable },
  '0005_audit': { up: auditTable },
  '0006_cell_identity': { up: cellIdentity },
  '0007_cell_settings': { up: cellSettingsTable },
  '0008_commands': { up: commandTables },
  '0009_configs': { up: configTable },
  '0010_probe': { up: probeTable },
  '0011_past_credentials': { up: pastCredentials },
  '0012_cell_owner': { up: cellOwner },
  '0013_gates': { up: gateTables },
}

export const recordMigrations: Record<string, Migration> = {
  '0001_usage': { up: usageTable },
  '0002_series': { up: seriesTables },
  '0003_usage_status': { up: usageByTime },
  '0004_usage_buckets': { up: usageBuckets },
}
