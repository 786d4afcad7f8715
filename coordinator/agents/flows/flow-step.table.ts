import * as z from 'zod'
import { flag, integer, json, optional, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** One call of a run: a step, or the compensation of a step. */
export const flowStepTable = defineTable('flow_steps', {
  columns: {
    run_id: reference('flow_runs'),
    /** Position of the step, from 0. */
    position: integer(),
    /** 0 for the step itself, 1 for its compensation. */
    undo: flag(),
    state: text(),
    /** Request at a gate that the step waits for. */
    gate_request_id: optional(text()),
    /** Task that the step waits for. */
    task_id: optional(text()),
    output_json: optional(json(z.unknown())),
    reason: optional(text()),
    started_at: time(),
    ended_at: optional(time()),
  },
  key: ['run_id', 'position', 'undo'],
})

export type FlowStepRow = RowOf<typeof flowStepTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    flow_steps: TableOf<typeof flowStepTable>
  }
}
