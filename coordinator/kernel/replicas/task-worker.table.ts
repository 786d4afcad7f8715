import { text, time } from '../store/columns.ts'
import { defineTable, type TableOf } from '../store/define-table.ts'

/**
 * Lease of a process, unix milliseconds, for coordinators before 0.1.0; all others read
 * `replicas`. One heartbeat writes both.
 */
export const taskWorkerTable = defineTable('task_workers', {
  columns: {
    id: text(),
    lease_until: time(),
  },
  key: ['id'],
})

declare module '../store/tables.ts' {
  interface LedgerTables {
    task_workers: TableOf<typeof taskWorkerTable>
  }
}
