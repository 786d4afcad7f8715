import { integer, text } from '../store/columns.ts'
import { defineTable, type TableOf } from '../store/define-table.ts'

/** Position of a reader that must miss no event over restarts and changes of the leader. */
export const eventCursorTable = defineTable('event_cursors', {
  columns: {
    name: text(),
    /** Number of the last event that was handled. */
    seq: integer(),
  },
  key: ['name'],
})

declare module '../store/tables.ts' {
  interface LedgerTables {
    event_cursors: TableOf<typeof eventCursorTable>
  }
}
