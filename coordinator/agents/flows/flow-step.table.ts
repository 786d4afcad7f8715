import {
  anyJson,
  flag,
  integer,
  oneOf,
  optional,
  reference,
  text,
  time,
} from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'
import { STEP_STATES } from './run.ts'

/** One call of a run: a step, or the compensation of a step. */
export const flowStepTable = defineTable('flow_steps', {
  columns: {
    run_id: reference('flow_runs'),
    /** Position of the step, from 0. */
    position: integer(),
    /** True for the compensation of the step. */
    undo: flag(),
    state: oneOf(STEP_STATES),
    /** Request at a gate that the step waits for. */
    gate_request_id: optional(text()),
    /** Task that the step waits for. */
    task_id: optional(text()),
    output_json: optional(anyJson()),
    /** Reason of a failure, or why the output of a completed call is not kept. */
    reason: optional(text()),
    started_at: time(),
    ended_at: optional(time()),
  },
  key: ['run_id', 'position', 'undo'],
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    flow_steps: TableOf<typeof flowStepTable>
  }
}
