import { anyJson, integer, optional, text, time } from '../store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../store/define-table.ts'

/** An event; the newest ones are kept for readers that come back. */
export const eventTable = defineTable('events', {
  columns: {
    /** Number in the order of commits, without gaps: the id of the event. */
    seq: integer(),
    type: text(),
    /** Name of the coordinator, as `/shoal/<name>`. */
    source: text(),
    subject: optional(text()),
    at: time(),
    data_json: anyJson(),
  },
  key: ['seq'],
})

export type EventRow = RowOf<typeof eventTable>

declare module '../store/tables.ts' {
  interface LedgerTables {
    events: TableOf<typeof eventTable>
  }
}
