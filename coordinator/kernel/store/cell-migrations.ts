import type { Kysely } from 'kysely'

/* Cells: how they come in, what is set for them, and what they are told. */

export const cellTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
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

export const cellIdentity = async ({ schema }: Kysely<unknown>): Promise<void> => {
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

export const cellSettingsTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('cell_settings')
    .addColumn('cell_id', 'text', column => column.primaryKey().notNull().references('cells.id'))
    .addColumn('drained_at', 'bigint')
    .addColumn('labels_json', 'text', column => column.notNull())
    .execute()
}

export const pastCredentialTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('past_credentials')
    .addColumn('cell_id', 'text', column => column.notNull().references('cells.id'))
    .addColumn('digest', 'text', column => column.notNull())
    .addColumn('replaced_at', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('past_credentials_key', ['cell_id', 'digest'])
    .execute()
}

export const cellOwner = async ({ schema }: Kysely<unknown>): Promise<void> => {
  const settings = schema.alterTable('cell_settings')
  await settings.addColumn('tenant_id', 'text', column => column.references('tenants.id')).execute()
  await settings
    .addColumn('exclusive', 'integer', column => column.notNull().defaultTo(0))
    .execute()
}

export const commandTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
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

export const configTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
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

/** Commands of coordinators that do not write the column count as those of a coordinator that left. */
export const commandHolder = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .alterTable('commands')
    .addColumn('holder', 'text', column => column.defaultTo(''))
    .execute()
}

/** What coordinators tell each other about cells. */
export const cellsOverReplicas = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('cell_starts')
    .addColumn('cell_id', 'text', column => column.notNull())
    .addColumn('boot_id', 'text', column => column.notNull())
    .addColumn('first_at', 'bigint', column => column.notNull())
    .addColumn('seen_at', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('cell_starts_key', ['cell_id', 'boot_id'])
    .execute()
  await schema
    .createTable('cell_renewals')
    .addColumn('cell_id', 'text', column => column.primaryKey().notNull())
    .addColumn('asked_at', 'bigint', column => column.notNull())
    .execute()
  await schema.alterTable('past_credentials').addColumn('boot_id', 'text').execute()
  await schema
    .alterTable('replicas')
    .addColumn('unconnected_json', 'text', column => column.notNull().defaultTo('[]'))
    .execute()
}

export const replicaDetails = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema.alterTable('replicas').addColumn('name', 'text').execute()
  await schema
    .alterTable('replicas')
    .addColumn('has_cells', 'integer', column => column.notNull().defaultTo(0))
    .execute()
}

/** Tokens without a tenant are those that were created on the machine, or before. */
export const joinTokenTenant = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .alterTable('join_tokens')
    .addColumn('tenant_id', 'text', column => column.references('tenants.id'))
    .execute()
}

export const commandOutcome = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema.alterTable('commands').addColumn('outcome_json', 'text').execute()
}
