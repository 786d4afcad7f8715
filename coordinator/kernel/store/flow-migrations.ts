import type { Kysely } from 'kysely'

/** Runs of flows and their steps. */
export const flowTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('flow_runs')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('tenant_id', 'text', column => column.notNull().references('tenants.id'))
    .addColumn('flow_id', 'text', column => column.notNull())
    .addColumn('synergy_id', 'text')
    .addColumn('steps_json', 'text', column => column.notNull())
    .addColumn('key_id', 'text', column => column.notNull())
    .addColumn('request_id', 'text', column => column.notNull())
    .addColumn('job_id', 'text', column => column.notNull())
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('cancelled', 'integer', column => column.notNull())
    .addColumn('fence', 'bigint', column => column.notNull())
    .addColumn('created_at', 'bigint', column => column.notNull())
    .addColumn('changed_at', 'bigint', column => column.notNull())
    .addColumn('ended_at', 'bigint')
    .execute()
  await schema
    .createIndex('flow_runs_tenant')
    .on('flow_runs')
    .columns(['tenant_id', 'created_at'])
    .execute()
  await schema
    .createIndex('flow_runs_ended')
    .on('flow_runs')
    .columns(['tenant_id', 'ended_at'])
    .execute()
  await schema
    .createTable('flow_steps')
    .addColumn('run_id', 'text', column => column.notNull().references('flow_runs.id'))
    .addColumn('position', 'integer', column => column.notNull())
    .addColumn('undo', 'integer', column => column.notNull())
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('gate_request_id', 'text')
    .addColumn('task_id', 'text')
    .addColumn('output_json', 'text')
    .addColumn('reason', 'text')
    .addColumn('started_at', 'bigint', column => column.notNull())
    .addColumn('ended_at', 'bigint')
    .addPrimaryKeyConstraint('flow_steps_key', ['run_id', 'position', 'undo'])
    .execute()
}

/** Ramp-ups of settings in stages. */
export const rampUpTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('ramp_ups')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
    .addColumn('tenant_id', 'text', column => column.notNull().references('tenants.id'))
    .addColumn('key_id', 'text', column => column.notNull())
    .addColumn('request_id', 'text', column => column.notNull())
    .addColumn('job_id', 'text', column => column.notNull())
    .addColumn('state', 'text', column => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('plan_json', 'text', column => column.notNull())
    .addColumn('stage', 'integer', column => column.notNull())
    .addColumn('stage_began_at', 'bigint', column => column.notNull())
    .addColumn('held_since', 'bigint')
    .addColumn('aborted', 'integer', column => column.notNull())
    .addColumn('fence', 'bigint', column => column.notNull())
    .addColumn('created_at', 'bigint', column => column.notNull())
    .addColumn('changed_at', 'bigint', column => column.notNull())
    .addColumn('ended_at', 'bigint')
    .execute()
}

/** Adds what a ramp-up remembers of the health of its cells. */
export const rampUpHealth = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema.alterTable('ramp_ups').addColumn('lost_since', 'bigint').execute()
  await schema
    .alterTable('ramp_ups')
    .addColumn('errors_before_percent', 'double precision')
    .execute()
}

/** Indexes of lists, counts and the retention of runs, which otherwise read every run with its steps. */
export const flowRunIndexes = async ({ schema }: Kysely<unknown>): Promise<void> => {
  const indexes = {
    flow_runs_retention: ['ended_at'],
    flow_runs_state: ['tenant_id', 'state', 'created_at'],
    flow_runs_flow: ['tenant_id', 'flow_id', 'created_at'],
    flow_runs_counts: ['tenant_id', 'flow_id', 'synergy_id', 'state'],
  }
  for (const [name, columns] of Object.entries(indexes))
    await schema.createIndex(name).on('flow_runs').columns(columns).execute()
}
