import { integer, text } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** A coordinator that has reported its counts since they were lost at `birth`. */
export const minuteReportTable = defineTable('minute_reports', {
  columns: {
    replica: text(),
    birth: integer(),
  },
  key: ['replica'],
  isLive: true,
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    minute_reports: TableOf<typeof minuteReportTable>
  }
}
