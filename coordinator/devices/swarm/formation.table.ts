import * as z from 'zod'
import { integer, json, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** A formation that was started. Times are unix milliseconds. */
export const formationTable = defineTable('formations', {
  columns: {
    id: text(),
    tenant_id: text(),
    /** Request at the gate that it used up. */
    request_id: text(),
    formation: text(),
    state: text(),
    /** The plan as people approved it. */
    plan_json: json(z.unknown()),
    created_by: text(),
    units: integer(),
    created_at: time(),
    start_at: time(),
    /** Time at which it ends by its plan. */
    ends_at: time(),
    changed_at: time(),
    ended_at: optional(time()),
    /** Reason of an end other than by the plan. */
    reason: optional(text()),
    /** Key or person that has aborted it; null where the coordinator did. */
    stopped_by: optional(text()),
    /** End of each unit; null before. */
    outcome_json: optional(json(z.unknown())),
  },
  key: ['id'],
  indexes: {
    formations_state: ['state'],
  },
})

export type FormationRow = RowOf<typeof formationTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    formations: TableOf<typeof formationTable>
  }
}
