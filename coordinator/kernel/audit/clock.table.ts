import { text, time } from '../store/columns.ts'
import { defineTable, type TableOf } from '../store/define-table.ts'

/** The latest time that was seen, so that a clock that was set back is noticed. */
export const clockTable = defineTable('clocks', {
  columns: {
    name: text(),
    at: time(),
  },
  key: ['name'],
})

declare module '../store/tables.ts' {
  interface LedgerTables {
    clocks: TableOf<typeof clockTable>
  }
}
