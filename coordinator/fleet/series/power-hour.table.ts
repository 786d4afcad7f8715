import { integer, real, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** Sum of the hourly means of the GPU power of all cells, written with the rows of their series. */
export const powerHourTable = defineTable('power_hours', {
  columns: {
    /** Beginning of the hour, UTC. */
    hour_at: time(),
    watt_hours: real(),
    /** Cells whose power was measured within the hour. */
    cells: integer(),
  },
  key: ['hour_at'],
  database: 'records',
})

declare module '../../kernel/store/tables.ts' {
  interface RecordTables {
    power_hours: TableOf<typeof powerHourTable>
  }
}
