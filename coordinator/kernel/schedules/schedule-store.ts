import type { Kysely, Transaction } from 'kysely'
import type { SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { findNextTime, jitterMs } from './recurrence.ts'
import type { ScheduleRow } from './schedule.table.ts'
import { type NewSchedule, type Schedule, scheduleOf } from './schedule.ts'

type Trx = Transaction<LedgerTables>

/** Fields that tell when a schedule is due next, counted from `after`. */
export const planNextRun = (
  { name, expression, timeZone, jitterSeconds }: NewSchedule,
  after: number,
): Pick<ScheduleRow, 'next_at' | 'due_at'> => {
  const next = findNextTime({ expression, timeZone }, after)
  if (next === undefined) return { next_at: null, due_at: null }
  return { next_at: next, due_at: next + jitterMs(name, jitterSeconds) }
}

/**
 * Adds a schedule or brings it up to date. Counters and the switch stay; the next run is planned
 * again only when the recurrence has changed, so that a restart neither skips nor repeats one.
 */
export const putSchedule = async (
  trx: SealedTrx,
  schedule: NewSchedule,
  now: number,
): Promise<void> => {
  const old = await findSchedule(trx, schedule.name)
  const values = {
    kind: schedule.kind,
    payload_json: JSON.stringify(schedule.payload),
    tenant_id: schedule.tenantId ?? null,
    expression: schedule.expression,
    time_zone: schedule.timeZone,
    jitter_seconds: schedule.jitterSeconds,
    grace_seconds: schedule.graceSeconds,
    changed_at: now,
    ...(old !== undefined && recursAlike(old, schedule) ? {} : planNextRun(schedule, now)),
  }
  if (old === undefined) {
    const counters = { enabled: 1, last_at: null, last_job_id: null, runs: 0, missed: 0 }
    const planned = planNextRun(schedule, now)
    const row = { name: schedule.name, created_at: now, ...counters, ...values, ...planned }
    await trx.insertInto('schedules').values(row).execute()
  } else await changeSchedule(trx, schedule.name, values)
}

const recursAlike = (old: Schedule, schedule: NewSchedule): boolean =>
  old.expression === schedule.expression &&
  old.timeZone === schedule.timeZone &&
  old.jitterSeconds === schedule.jitterSeconds

export const changeSchedule = async (
  trx: Trx,
  name: string,
  values: Partial<ScheduleRow>,
): Promise<void> => {
  await trx.updateTable('schedules').set(values).where('name', '=', name).execute()
}

export const removeSchedule = async (trx: Trx, name: string): Promise<boolean> => {
  const removed = await trx.deleteFrom('schedules').where('name', '=', name).executeTakeFirst()
  return removed.numDeletedRows > 0n
}

export const findSchedule = async (
  db: Kysely<LedgerTables>,
  name: string,
): Promise<Schedule | undefined> => {
  const query = db.selectFrom('schedules').selectAll().where('name', '=', name)
  const row = await query.executeTakeFirst()
  return row && scheduleOf(row)
}

export const listSchedules = async (db: Kysely<LedgerTables>): Promise<Schedule[]> =>
  (await db.selectFrom('schedules').selectAll().orderBy('name').execute()).map(scheduleOf)

/** Enabled schedules whose time has come, the most overdue first. */
export const listDue = async (
  db: Kysely<LedgerTables>,
  now: number,
  limit: number,
): Promise<Schedule[]> => {
  const query = db.selectFrom('schedules').selectAll().where('enabled', '=', 1)
  const rows = await query.where('due_at', '<=', now).orderBy('due_at').limit(limit).execute()
  return rows.map(scheduleOf)
}
