import { text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** A process that runs tasks; unix time, milliseconds, until which it counts as alive. */
export const taskWorkerTable = defineTable('task_workers', {
  columns: {
    id: text(),
    lease_until: time(),
  },
  key: ['id'],
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    task_workers: TableOf<typeof taskWorkerTable>
  }
}
