import { growingWords, integer, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'
import { TASK_STATES } from './task-state.ts'

/** One change of a task's state; `hash` covers the row and the hash of the one before. */
export const taskTransitionTable = defineTable('task_transitions', {
  columns: {
    task_id: text(),
    seq: integer(),
    at: time(),
    from_state: optional(growingWords(TASK_STATES)),
    to_state: growingWords(TASK_STATES),
    actor: text(),
    reason: optional(text()),
    gate_request_id: optional(text()),
    prev: text(),
    hash: text(),
  },
  key: ['task_id', 'seq'],
})

export type TaskTransition = EntityOf<typeof taskTransitionTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    task_transitions: TableOf<typeof taskTransitionTable>
  }
}
