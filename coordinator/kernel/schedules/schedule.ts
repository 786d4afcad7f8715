import type { Recurrence } from './recurrence.ts'
import type { ScheduleRow } from './schedule.table.ts'

/** A job that is added to the queue again and again. */
export interface NewSchedule extends Recurrence {
  /** Unique in the fleet: `discovery.auto-run`. */
  name: string
  /** Kind of the job. */
  kind: string
  payload: unknown
  /** Undefined for work of the whole service. */
  tenantId?: string
  /** Lateness up to which a run is still started; a later one is counted as missed. */
  graceSeconds: number
}

/** A schedule as the store has it. Times are Unix milliseconds. */
export interface Schedule extends NewSchedule {
  isEnabled: boolean
  /** Next planned time, without jitter; undefined when the expression never fires again. */
  nextAt?: number
  /** Planned time of the last run that was started. */
  lastAt?: number
  lastJobId?: string
  /** Runs started since the schedule was made. */
  runs: number
  /** Planned times that passed without a run: the service was down, or the run before still went on. */
  missed: number
}

export const scheduleOf = (row: ScheduleRow): Schedule => ({
  name: row.name,
  kind: row.kind,
  payload: JSON.parse(row.payload_json),
  expression: row.expression,
  timeZone: row.time_zone,
  jitterSeconds: row.jitter_seconds,
  graceSeconds: row.grace_seconds,
  isEnabled: row.enabled === 1,
  runs: row.runs,
  missed: row.missed,
  ...(row.tenant_id === null ? {} : { tenantId: row.tenant_id }),
  ...(row.next_at === null ? {} : { nextAt: row.next_at }),
  ...(row.last_at === null ? {} : { lastAt: row.last_at }),
  ...(row.last_job_id === null ? {} : { lastJobId: row.last_job_id }),
})
