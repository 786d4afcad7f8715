import { text } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** Row that a coordinator locks while it counts the last minute of a subject. */
export const minuteSubjectTable = defineTable('minute_subjects', {
  columns: {
    subject: text(),
  },
  key: ['subject'],
  isLive: true,
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    minute_subjects: TableOf<typeof minuteSubjectTable>
  }
}
