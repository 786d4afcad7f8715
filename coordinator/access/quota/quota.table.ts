import { integer, text } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** Requests reserved in one calendar month (`2026-11`, UTC): spent, or leased by a coordinator. */
export const quotaTable = defineTable('quotas', {
  columns: {
    month: text(),
    subject: text(),
    reserved: integer(),
  },
  key: ['month', 'subject'],
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    quotas: TableOf<typeof quotaTable>
  }
}
