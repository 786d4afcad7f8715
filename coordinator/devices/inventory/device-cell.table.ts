import * as z from 'zod'
import { json, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** A cell that announces a device. */
export const deviceCellTable = defineTable('device_cells', {
  columns: {
    device_id: text(),
    cell_id: text(),
    /** Time from which the cell has announced it without a long break. */
    since: time(),
    kind: text(),
    facts_json: json(z.unknown()),
    /** Time at which the cell has dropped it; null while it announces it. */
    gone_at: optional(time()),
  },
  key: ['device_id', 'cell_id'],
  indexes: {
    device_cells_cell: ['cell_id'],
  },
})

export type DeviceCellRow = RowOf<typeof deviceCellTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    device_cells: TableOf<typeof deviceCellTable>
  }
}
