import { text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** A coordinator needs what others have leased of the month and not spent. */
export const quotaRecallTable = defineTable('quota_recalls', {
  columns: {
    subject: text(),
    /** Unix milliseconds by the clock of the store. */
    at: time(),
  },
  key: ['subject'],
  isLive: true,
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    quota_recalls: TableOf<typeof quotaRecallTable>
  }
}
