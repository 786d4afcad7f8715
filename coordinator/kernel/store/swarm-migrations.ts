import type { Kysely } from 'kysely'

/* Formations of devices, and what each cell does of them. */

export const formationTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  let formations = schema
    .createTable('formations')
    .addColumn('id', 'text', column => column.primaryKey().notNull())
  for (const name of ['tenant_id', 'request_id', 'formation', 'state', 'plan_json', 'created_by'])
    formations = formations.addColumn(name, 'text', column => column.notNull())
  for (const name of ['units', 'created_at', 'start_at', 'ends_at'])
    formations = formations.addColumn(name, 'bigint', column => column.notNull())
  await formations
    .addColumn('changed_at', 'bigint', column => column.notNull())
    .addColumn('ended_at', 'bigint')
    .addColumn('reason', 'text')
    .addColumn('stopped_by', 'text')
    .addColumn('outcome_json', 'text')
    .execute()
  await schema.createIndex('formations_state').on('formations').column('state').execute()
}

export const formationPartTable = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema
    .createTable('formation_parts')
    .addColumn('formation_id', 'text', column => column.notNull())
    .addColumn('cell_id', 'text', column => column.notNull())
    .addColumn('part_hash', 'text', column => column.notNull())
    .addColumn('command_id', 'text', column => column.notNull())
    .addPrimaryKeyConstraint('formation_parts_key', ['formation_id', 'cell_id'])
    .execute()
}
