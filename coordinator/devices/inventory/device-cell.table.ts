import { DeviceKind } from '../../../shared/wire/device.ts'
import { growingWords, json, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'
import { StoredDeviceFacts } from './stored-device-facts.ts'

/** A cell that announces a device. */
export const deviceCellTable = defineTable('device_cells', {
  columns: {
    device_id: text(),
    cell_id: text(),
    /** Time, unix milliseconds, from which the cell has announced it without a long break. */
    since: time(),
    kind: growingWords(DeviceKind.options),
    facts_json: json(StoredDeviceFacts),
    /** Time at which the cell has dropped it; undefined while it announces it. */
    gone_at: optional(time()),
  },
  key: ['device_id', 'cell_id'],
  indexes: {
    device_cells_cell: ['cell_id'],
  },
})

/** A claim while it is in force. */
export type DeviceClaim = Pick<
  EntityOf<typeof deviceCellTable>,
  'cellId' | 'since' | 'kind' | 'facts'
>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    device_cells: TableOf<typeof deviceCellTable>
  }
}
