import { integer, text, time } from '../store/columns.ts'
import { defineTable, type TableOf } from '../store/define-table.ts'

/** One row while the audit is in doubt: nothing is written, by any process. */
export const auditTroubleTable = defineTable('audit_trouble', {
  columns: {
    id: integer(),
    at: time(),
    reason: text(),
  },
  key: ['id'],
})

declare module '../store/tables.ts' {
  interface LedgerTables {
    audit_trouble: TableOf<typeof auditTroubleTable>
  }
}
