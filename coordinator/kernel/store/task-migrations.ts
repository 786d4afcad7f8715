import { type CreateTableBuilder, type Kysely, sql } from 'kysely'

/* Tasks. */

type Table = CreateTableBuilder<string, string>

/** The first two have the form of the stores of A2A's library; the others are ours. */
export const taskTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
  let tasks: Table = schema.createTable('a2a_tasks')
  for (const name of ['tenant', 'owner', 'id', 'context_id'])
    tasks = tasks.addColumn(name, 'text', column => column.notNull())
  tasks = tasks.addColumn('status_last_updated', 'bigint', column => column.notNull())
  for (const name of ['status_state', 'status', 'artifacts', 'history', 'metadata'])
    tasks = tasks.addColumn(name, 'text')
  await tasks
    .addColumn('protocol_version', 'text')
    .addPrimaryKeyConstraint('a2a_tasks_key', ['tenant', 'owner', 'id'])
    .execute()
  const newest = schema.createIndex('a2a_tasks_newest').on('a2a_tasks')
  await newest.columns(['tenant', 'owner', 'status_last_updated', 'id']).execute()
  await schema
    .createIndex('a2a_tasks_state')
    .on('a2a_tasks')
    .columns(['status_state', 'status_last_updated'])
    .execute()
  let configs: Table = schema.createTable('a2a_push_configs')
  for (const name of ['tenant', 'owner', 'task_id', 'config_id'])
    configs = configs.addColumn(name, 'text', column => column.notNull())
  await configs
    .addColumn('config_data', 'text')
    .addColumn('protocol_version', 'text')
    .addPrimaryKeyConstraint('a2a_push_configs_key', ['tenant', 'owner', 'task_id', 'config_id'])
    .execute()
  await schema
    .createTable('task_runs')
    .addColumn('task_id', 'text', column => column.primaryKey().notNull())
    .addColumn('tenant_id', 'text', column => column.notNull())
    .addColumn('key_id', 'text')
    .addColumn('request_id', 'text', column => column.notNull())
    .addColumn('operation_id', 'text')
    .addColumn('input_json', 'text', column => column.notNull())
    .addColumn('cell_id', 'text')
    .addColumn('waits', 'text')
    .addColumn('gate_request_id', 'text')
    .addColumn('audited', 'integer', column => column.notNull())
    .addColumn('created_at', 'bigint', column => column.notNull())
    .execute()
  await schema.createIndex('task_runs_waits').on('task_runs').column('waits').execute()
  await schema
    .createTable('task_messages')
    .addColumn('key_id', 'text', column => column.notNull())
    .addColumn('message_id', 'text', column => column.notNull())
    .addColumn('task_id', 'text', column => column.notNull())
    .addColumn('digest', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('task_messages_key', ['key_id', 'message_id'])
    .execute()
  await schema.createIndex('task_messages_task').on('task_messages').column('task_id').execute()
  let transitions: Table = schema
    .createTable('task_transitions')
    .addColumn('task_id', 'text', column => column.notNull())
    .addColumn('seq', 'integer', column => column.notNull())
    .addColumn('at', 'bigint', column => column.notNull())
    .addColumn('from_state', 'text')
  for (const name of ['to_state', 'actor', 'prev', 'hash'])
    transitions = transitions.addColumn(name, 'text', column => column.notNull())
  await transitions
    .addColumn('reason', 'text')
    .addColumn('gate_request_id', 'text')
    .addPrimaryKeyConstraint('task_transitions_key', ['task_id', 'seq'])
    .execute()
}

export const taskWorkers = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema.alterTable('task_runs').addColumn('worker', 'text').execute()
  await schema
    .createTable('task_workers')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('lease_until', 'bigint', column => column.notNull())
    .execute()
}

/** Adds the key that created a push configuration; existing rows get the key of their task. */
export const hookKeys = async (db: Kysely<unknown>): Promise<void> => {
  await db.schema.alterTable('a2a_push_configs').addColumn('key_id', 'text').execute()
  await sql`update a2a_push_configs set key_id =
    (select key_id from task_runs where task_runs.task_id = a2a_push_configs.task_id)`.execute(db)
}

export const taskCancels = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('task_cancels')
    .addColumn('task_id', 'text', column => column.primaryKey().notNull())
    .addColumn('tenant_id', 'text', column => column.notNull())
    .addColumn('actor', 'text', column => column.notNull())
    .execute()
}

/** Mail of every kind; the cancellations that were open stay open. */
export const taskMail = async (db: Kysely<unknown>): Promise<void> => {
  await db.schema
    .createTable('task_mail')
    .addColumn('task_id', 'text', column => column.notNull())
    .addColumn('kind', 'text', column => column.notNull())
    .addColumn('tenant_id', 'text', column => column.notNull())
    .addColumn('actor', 'text', column => column.notNull())
    .addColumn('body_json', 'text')
    .addColumn('posted_at', 'bigint', column => column.notNull())
    .addPrimaryKeyConstraint('task_mail_key', ['task_id', 'kind'])
    .execute()
  await sql`insert into task_mail (task_id, kind, tenant_id, actor, posted_at)
    select task_id, 'cancel', tenant_id, actor, 0 from task_cancels`.execute(db)
  await db.schema.dropTable('task_cancels').execute()
}
