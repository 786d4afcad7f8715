import type { Kysely } from 'kysely'
import type { Logger } from 'pino'
import type { Runtime } from '../../../shared/runtime.ts'
import type { RowOf } from '../../kernel/store/define-table.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { alertTable } from './alert.table.ts'
import { type Acknowledgement, type Alert, alertOf } from './alert.ts'
import type { Observation } from './alert-rules.ts'

type Reading = Pick<Kysely<LedgerTables>, 'selectFrom'>

const toAlert = (row: RowOf<typeof alertTable>): Alert => alertOf(alertTable.read(row))

/**
 * Alerts that are raised, newest first, then the ones that were cleared last. One that cannot be
 * read, such as one of a rule of a newer version, is left to the coordinators of that version.
 */
export const readAlerts = async (
  db: Reading,
  clearedLimit: number,
  logger: Pick<Logger, 'warn'>,
): Promise<Alert[]> => {
  const alerts = db.selectFrom('alerts').selectAll()
  const raised = await alerts
    .where('cleared_at', 'is', null)
    .orderBy('raised_at', 'desc')
    .orderBy('rule')
    .execute()
  const cleared = await alerts
    .where('cleared_at', 'is not', null)
    .orderBy('cleared_at', 'desc')
    .orderBy('rule')
    .limit(clearedLimit)
    .execute()
  return readEach([...raised, ...cleared], toAlert, logger)
}

/** Returns the alerts that were not raised before. */
export const raiseAlerts = async (
  trx: SealedTrx,
  observations: readonly Observation[],
  now: number,
  { ids: { create } }: Pick<Runtime, 'ids'>,
): Promise<Alert[]> => {
  if (observations.length === 0) return []
  const alerts = observations.map(observation => newAlert(observation, create('alert', now), now))
  const inserted = await trx
    .insertInto('alerts')
    .values(alerts.map(alertTable.write))
    .onConflict(conflict => conflict.doNothing())
    .returning('id')
    .execute()
  const ids = new Set(inserted.map(({ id }) => id))
  return alerts.filter(({ id }) => ids.has(id)).map(alertOf)
}

const newAlert = (
  { rule, cellId = '', part = '', message }: Observation,
  id: string,
  now: number,
) => ({
  id,
  rule,
  cellId,
  part,
  message,
  raisedAt: now,
})

/** Returns the alerts that were not cleared before. */
export const clearAlerts = async (
  trx: SealedTrx,
  alerts: readonly Alert[],
  now: number,
): Promise<Alert[]> => {
  if (alerts.length === 0) return []
  const rows = await trx
    .updateTable('alerts')
    .set({ cleared_at: now })
    .where(
      'id',
      'in',
      alerts.map(({ id }) => id),
    )
    .where('cleared_at', 'is', null)
    .returningAll()
    .execute()
  return rows.map(toAlert)
}

export const rewordAlert = async (trx: SealedTrx, id: string, message: string): Promise<void> => {
  await trx.updateTable('alerts').set({ message }).where('id', '=', id).execute()
}

export const findAlert = async (db: Reading, id: string): Promise<Alert | undefined> => {
  const row = await db.selectFrom('alerts').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toAlert(row)
}

export const setAcknowledged = async (
  trx: SealedTrx,
  id: string,
  by: Acknowledgement | undefined,
): Promise<void> => {
  await trx
    .updateTable('alerts')
    .set(alertTable.writeSome({ acknowledgedBy: by?.by, acknowledgedAt: by?.at, note: by?.note }))
    .where('id', '=', id)
    .execute()
}

/** Deletes all but the alerts that were cleared last. */
export const pruneAlerts = async (trx: SealedTrx, clearedLimit: number): Promise<void> => {
  const oldest = await trx
    .selectFrom('alerts')
    .select('cleared_at')
    .where('cleared_at', 'is not', null)
    .orderBy('cleared_at', 'desc')
    .offset(clearedLimit)
    .limit(1)
    .executeTakeFirst()
  if (oldest === undefined) return
  await trx.deleteFrom('alerts').where('cleared_at', '<=', oldest.cleared_at).execute()
}
