import { anyJson, flag, oneOf, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** Run of a task: its operation, its owner, and the input or approval that it waits for. */
export const taskRunTable = defineTable('task_runs', {
  columns: {
    task_id: text(),
    tenant_id: text(),
    /** Null for a caller without a key. */
    key_id: optional(text()),
    request_id: text(),
    /** Null while it is not known what is asked for. */
    operation_id: optional(text()),
    input_json: anyJson(),
    /** Cell that the caller named. */
    cell_id: optional(text()),
    waits: optional(oneOf(['input', 'gate'])),
    gate_request_id: optional(text()),
    /** True when the audit records its outcome; true for operations that do more than read. */
    audited: flag(),
    created_at: time(),
    /** The process that is at work on it and alone may write it; null while none is. */
    worker: optional(text()),
  },
  key: ['task_id'],
  indexes: {
    task_runs_waits: ['waits'],
  },
})

export type TaskRunRow = RowOf<typeof taskRunTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    task_runs: TableOf<typeof taskRunTable>
  }
}
