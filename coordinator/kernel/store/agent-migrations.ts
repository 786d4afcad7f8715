import type { Kysely } from 'kysely'

/* Sessions of agents and peers of operators. */

export const agentTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('agent_sessions')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('tenant_id', 'text', column => column.notNull().references('tenants.id'))
    .addColumn('person_id', 'text', column => column.notNull())
    .addColumn('key_id', 'text', column => column.notNull())
    .addColumn('kind', 'text', column => column.notNull())
    .addColumn('agent_id', 'text', column => column.notNull())
    .addColumn('agent_type', 'text', column => column.notNull())
    .addColumn('roles_json', 'text', column => column.notNull())
    .addColumn('variant', 'text', column => column.notNull())
    .addColumn('profile_id', 'text')
    .addColumn('supervisor_id', 'text')
    .addColumn('step', 'text', column => column.notNull())
    .addColumn('waiting_json', 'text')
    .addColumn('last_skill', 'text')
    .addColumn('docked_at', 'bigint', column => column.notNull())
    .addColumn('seen_at', 'bigint', column => column.notNull())
    .addColumn('idle_at', 'bigint', column => column.notNull())
    .addColumn('expires_at', 'bigint', column => column.notNull())
    .addColumn('ended_at', 'bigint')
    .addColumn('outcome', 'text')
    .execute()
  for (const [name, columns] of Object.entries({
    tenant: ['tenant_id', 'id'],
    live: ['ended_at', 'tenant_id', 'agent_id'],
  }))
    await schema
      .createIndex(`agent_sessions_${name}`)
      .on('agent_sessions')
      .columns(columns)
      .execute()
  await schema
    .createTable('agent_claims')
    .addColumn('tenant_id', 'text', column => column.notNull())
    .addColumn('scope', 'text', column => column.notNull())
    .addColumn('session_id', 'text', column => column.notNull().references('agent_sessions.id'))
    .addColumn('task_id', 'text')
    .addColumn('claimed_at', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('agent_claims_key', ['tenant_id', 'scope'])
    .execute()
  await schema
    .createTable('agent_evidence')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('session_id', 'text', column => column.notNull().references('agent_sessions.id'))
    .addColumn('at', 'bigint', column => column.notNull())
    .addColumn('summary', 'text', column => column.notNull())
    .addColumn('items_json', 'text', column => column.notNull())
    .addColumn('scopes_json', 'text', column => column.notNull())
    .execute()
  for (const table of ['agent_claims', 'agent_evidence'])
    await schema.createIndex(`${table}_session`).on(table).column('session_id').execute()
  await peerTables(schema)
}

/** Adds the state of the task of a claim. */
export const agentTaskState = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema.alterTable('agent_claims').addColumn('task_state', 'text').execute()
}

const peerTables = async (schema: Kysely<unknown>['schema']): Promise<void> => {
  await schema
    .createTable('operator_peers')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('tenant_id', 'text', column => column.notNull().references('tenants.id'))
    .addColumn('role', 'text', column => column.notNull())
    .addColumn('person_id', 'text', column => column.notNull())
    .addColumn('key_id', 'text', column => column.notNull())
    .addColumn('agent_id', 'text', column => column.notNull())
    .addColumn('terminal_label', 'text')
    .addColumn('fence', 'bigint', column => column.notNull())
    .addColumn('claimed_at', 'bigint', column => column.notNull())
    .addColumn('expires_at', 'bigint', column => column.notNull())
    .addColumn('ended_at', 'bigint')
    .addUniqueConstraint('operator_peers_fence', ['tenant_id', 'role', 'fence'])
    .execute()
  await schema
    .createTable('operator_fences')
    .addColumn('tenant_id', 'text', column => column.notNull())
    .addColumn('role', 'text', column => column.notNull())
    .addColumn('fence', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('operator_fences_key', ['tenant_id', 'role'])
    .execute()
  await schema
    .createTable('peer_handshakes')
    .addColumn('peer_id', 'text', column => column.notNull().references('operator_peers.id'))
    .addColumn('other_id', 'text', column => column.notNull().references('operator_peers.id'))
    .addColumn('at', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('peer_handshakes_key', ['peer_id', 'other_id'])
    .execute()
}
