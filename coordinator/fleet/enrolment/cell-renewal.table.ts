import { text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** A cell that must replace its credential, told by the next coordinator that has it connected. */
export const cellRenewalTable = defineTable('cell_renewals', {
  columns: {
    cell_id: text(),
    /** Time by the clock of the store. */
    asked_at: time(),
  },
  key: ['cell_id'],
  isLive: true,
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    cell_renewals: TableOf<typeof cellRenewalTable>
  }
}
