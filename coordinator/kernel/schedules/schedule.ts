import type { Recurrence } from './recurrence.ts'
import { type ScheduleRow, scheduleTable } from './schedule.table.ts'

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

export const scheduleOf = (row: ScheduleRow): Schedule => {
  const { enabled, tenantId, nextAt, lastAt, lastJobId, ...stored } = scheduleTable.read(row)
  const { dueAt: _, createdAt: __, changedAt: ___, ...schedule } = stored
  return {
    ...schedule,
    isEnabled: enabled,
    ...(tenantId !== undefined && { tenantId }),
    ...(nextAt !== undefined && { nextAt }),
    ...(lastAt !== undefined && { lastAt }),
    ...(lastJobId !== undefined && { lastJobId }),
  }
}
