import { text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** A recent start of a cell's daemon, as far as coordinators have seen it connected. */
export const cellStartTable = defineTable('cell_starts', {
  columns: {
    cell_id: text(),
    boot_id: text(),
    /** Times by the clock of the store. */
    first_at: time(),
    seen_at: time(),
  },
  key: ['cell_id', 'boot_id'],
  isLive: true,
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    cell_starts: TableOf<typeof cellStartTable>
  }
}
