import { integer, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** One change of a task's state; `hash` covers the row and the hash of the one before. */
export const taskTransitionTable = defineTable('task_transitions', {
  columns: {
    task_id: text(),
    seq: integer(),
    at: time(),
    from_state: optional(text()),
    to_state: text(),
    actor: text(),
    reason: optional(text()),
    gate_request_id: optional(text()),
    prev: text(),
    hash: text(),
  },
  key: ['task_id', 'seq'],
})

export type TaskTransitionRow = RowOf<typeof taskTransitionTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    task_transitions: TableOf<typeof taskTransitionTable>
  }
}
