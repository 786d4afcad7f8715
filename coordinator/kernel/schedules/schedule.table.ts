import { anyJson, flag, integer, optional, reference, text, time } from '../store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../store/define-table.ts'

/** Work that recurs. Times are Unix milliseconds by the clock of the leader. */
export const scheduleTable = defineTable('schedules', {
  columns: {
    name: text(),
    /** Kind of the job that each run adds. */
    kind: text(),
    payload_json: anyJson(),
    /** Null for work of the whole service. */
    tenant_id: optional(reference('tenants')),
    expression: text(),
    time_zone: text(),
    jitter_seconds: integer(),
    grace_seconds: integer(),
    enabled: flag(),
    /** Next planned time; null when the expression never fires again. */
    next_at: optional(time()),
    /** `next_at` with the jitter; null like it. */
    due_at: optional(time()),
    last_at: optional(time()),
    last_job_id: optional(text()),
    runs: integer(),
    missed: integer(),
    created_at: time(),
    changed_at: time(),
  },
  key: ['name'],
  indexes: {
    schedules_due: ['enabled', 'due_at'],
  },
})

export type ScheduleRow = RowOf<typeof scheduleTable>

declare module '../store/tables.ts' {
  interface LedgerTables {
    schedules: TableOf<typeof scheduleTable>
  }
}
