import { anyJson, flag, integer, optional, reference, text, time } from '../store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../store/define-table.ts'

/** Work that recurs. Times are Unix milliseconds by the clock of the leader. */
export const scheduleTable = defineTable('schedules', {
  columns: {
    /** Name, unique in the fleet: `discovery.auto-run`. */
    name: text(),
    /** Kind of the job that each run adds. */
    kind: text(),
    payload_json: anyJson(),
    /** Tenant that the work is for; absent for work of the whole service. */
    tenant_id: optional(reference('tenants')),
    expression: text(),
    time_zone: text(),
    jitter_seconds: integer(),
    /** Lateness up to which a run is still started; a later one is counted as missed. */
    grace_seconds: integer(),
    enabled: flag(),
    /** Next planned time, without jitter; absent when the expression never fires again. */
    next_at: optional(time()),
    /** `next_at` with the jitter; absent like it. */
    due_at: optional(time()),
    /** Planned time of the last run that was started. */
    last_at: optional(time()),
    last_job_id: optional(text()),
    /** Runs started since the schedule was made. */
    runs: integer(),
    /**
     * Planned times that passed without a run: the service was down, or the run before still went
     * on.
     */
    missed: integer(),
    created_at: time(),
    changed_at: time(),
  },
  key: ['name'],
  indexes: {
    schedules_due: ['enabled', 'due_at'],
  },
})

export type StoredSchedule = EntityOf<typeof scheduleTable>

declare module '../store/tables.ts' {
  interface LedgerTables {
    schedules: TableOf<typeof scheduleTable>
  }
}
