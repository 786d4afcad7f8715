import { integer, text } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** Requests of one subject that one coordinator has started, or may start, in one slot. */
export const minuteSlotTable = defineTable('minute_slots', {
  columns: {
    subject: text(),
    /** Number of the slot by the clock of the store. */
    slot: integer(),
    replica: text(),
    starts: integer(),
  },
  key: ['subject', 'slot', 'replica'],
  isLive: true,
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    minute_slots: TableOf<typeof minuteSlotTable>
  }
}
