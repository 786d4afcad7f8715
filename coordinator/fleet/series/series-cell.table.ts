import { text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

export const seriesCellTable = defineTable('series_cells', {
  columns: {
    cell_id: text(),
    /** Time of the newest late sample that was counted, by the cell's clock. */
    late_until: time(),
  },
  key: ['cell_id'],
  database: 'records',
})

declare module '../../kernel/store/tables.ts' {
  interface RecordTables {
    series_cells: TableOf<typeof seriesCellTable>
  }
}
