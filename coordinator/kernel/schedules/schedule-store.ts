import type { Kysely, Transaction } from 'kysely'
import type { SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { findNextTime, jitterMs } from './recurrence.ts'
import { type StoredSchedule, scheduleTable } from './schedule.table.ts'
import { type NewSchedule, type Schedule, scheduleOf } from './schedule.ts'

type Trx = Transaction<LedgerTables>

/** Fields that tell when a schedule is due next, counted from `after`. */
export const planNextRun = (
  { name, expression, timeZone, jitterSeconds }: NewSchedule,
  after: number,
): Pick<StoredSchedule, 'nextAt' | 'dueAt'> => {
  const nextAt = findNextTime({ expression, timeZone }, after)
  if (nextAt === undefined) return { nextAt, dueAt: undefined }
  return { nextAt, dueAt: nextAt + jitterMs(name, jitterSeconds) }
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
  const { tenantId } = schedule
  if (old === undefined) {
    const counters = { enabled: true, runs: 0, missed: 0, createdAt: now, changedAt: now }
    const row = scheduleTable.write({ ...schedule, ...counters, ...planNextRun(schedule, now) })
    await trx.insertInto('schedules').values(row).execute()
    return
  }
  const planned = recursAlike(old, schedule) ? {} : planNextRun(schedule, now)
  await changeSchedule(trx, schedule.name, { ...schedule, tenantId, changedAt: now, ...planned })
}

const recursAlike = (old: Schedule, schedule: NewSchedule): boolean =>
  old.expression === schedule.expression &&
  old.timeZone === schedule.timeZone &&
  old.jitterSeconds === schedule.jitterSeconds

export const changeSchedule = async (
  trx: Trx,
  name: string,
  fields: Partial<StoredSchedule>,
): Promise<void> => {
  const values = scheduleTable.writeSome(fields)
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
  return row && scheduleOf(scheduleTable.read(row))
}

export const listSchedules = async (db: Kysely<LedgerTables>): Promise<Schedule[]> =>
  (await db.selectFrom('schedules').selectAll().orderBy('name').execute())
    .map(scheduleTable.read)
    .map(scheduleOf)

/** Enabled schedules whose time has come, the most overdue first. */
export const listDue = async (
  db: Kysely<LedgerTables>,
  now: number,
  limit: number,
): Promise<Schedule[]> => {
  const query = db.selectFrom('schedules').selectAll().where('enabled', '=', 1)
  const rows = await query.where('due_at', '<=', now).orderBy('due_at').limit(limit).execute()
  return rows.map(scheduleTable.read).map(scheduleOf)
}
