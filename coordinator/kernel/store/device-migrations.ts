import type { Kysely } from 'kysely'

/* Devices that cells announce. */

export const deviceTables = async ({ schema }: Kysely<unknown>): Promise<void> => {
  let devices = schema
    .createTable('devices')
    .addColumn('device_id', 'text', column => column.primaryKey().notNull())
  for (const name of ['cell_id', 'also_on_json', 'kind', 'facts_json', 'labels_json'])
    devices = devices.addColumn(name, 'text', column => column.notNull())
  await devices
    .addColumn('is_available', 'integer', column => column.notNull())
    .addColumn('first_seen', 'bigint', column => column.notNull())
    .addColumn('changed_at', 'bigint', column => column.notNull())
    .addColumn('gone_at', 'bigint')
    .addColumn('version', 'bigint', column => column.notNull())
    .execute()
  await schema.createIndex('devices_version').on('devices').column('version').execute()
  await schema
    .createTable('device_cells')
    .addColumn('device_id', 'text', column => column.notNull())
    .addColumn('cell_id', 'text', column => column.notNull())
    .addColumn('since', 'bigint', column => column.notNull())
    .addColumn('kind', 'text', column => column.notNull())
    .addColumn('facts_json', 'text', column => column.notNull())
    .addColumn('gone_at', 'bigint')
    .addPrimaryKeyConstraint('device_cells_key', ['device_id', 'cell_id'])
    .execute()
  await schema.createIndex('device_cells_cell').on('device_cells').column('cell_id').execute()
}

/** Commands that were stored before have no device in the column; they are deleted after a month. */
export const commandDevices = async ({ schema }: Kysely<unknown>): Promise<void> => {
  await schema.alterTable('commands').addColumn('device_id', 'text').execute()
  await schema
    .createIndex('commands_by_device')
    .on('commands')
    .columns(['device_id', 'id'])
    .execute()
}
