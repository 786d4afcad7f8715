import { integer, time } from './columns.ts'
import { defineTable, type RowOf, type TableOf } from './define-table.ts'

/** One row, rewritten to see whether the store can be written. */
export const probeTable = defineTable('probe', {
  columns: {
    id: integer(),
    at: time(),
  },
  key: ['id'],
})

export type ProbeRow = RowOf<typeof probeTable>

declare module './tables.ts' {
  interface LedgerTables {
    probe: TableOf<typeof probeTable>
  }
}
