import type { Recurrence } from './recurrence.ts'
import type { StoredSchedule } from './schedule.table.ts'

/** A job that is added to the queue again and again. */
export type NewSchedule = Recurrence &
  Pick<StoredSchedule, 'name' | 'kind' | 'payload' | 'graceSeconds' | 'tenantId'>

/** A schedule as the store has it. Times are Unix milliseconds. */
export type Schedule = Omit<StoredSchedule, 'dueAt' | 'createdAt' | 'changedAt' | 'enabled'> & {
  isEnabled: boolean
}

export const scheduleOf = ({
  enabled: isEnabled,
  dueAt: _,
  createdAt: __,
  changedAt: ___,
  ...schedule
}: StoredSchedule): Schedule => ({ ...schedule, isEnabled })
