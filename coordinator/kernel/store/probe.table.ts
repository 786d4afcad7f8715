import { integer, time } from './columns.ts'
import { defineTable, type TableOf } from './define-table.ts'

/** One row, rewritten to see whether the store can be written. */
export const probeTable = defineTable('probe', {
  columns: {
    id: integer(),
    at: time(),
  },
  key: ['id'],
})

declare module './tables.ts' {
  interface LedgerTables {
    probe: TableOf<typeof probeTable>
  }
}
