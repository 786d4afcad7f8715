import { text, time } from '../store/columns.ts'
import { defineTable, type TableOf } from '../store/define-table.ts'

/**
 * Lease of a process, unix milliseconds, for coordinators before 0.1.0; `replicas` has it for all
 * others. Written by the same heartbeat.
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
