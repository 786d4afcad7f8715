import { type Kysely, type SqlBool, sql } from 'kysely'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { EventDraft } from '../../kernel/events/bus.ts'
import type { RowOf } from '../../kernel/store/define-table.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import { nextSequence } from '../../kernel/store/sequences.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { readTrouble } from '../../kernel/store/trouble.ts'
import { estopTable, type Stop } from './estop.table.ts'
import { type IN_FORCE, stopData } from './stop.ts'

/** Fields that a release sets. */
export type StopRelease = {
  [F in keyof typeof IN_FORCE]: NonNullable<Stop[F]>
}

type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>

/**
 * Reads a stop. One whose row cannot be read, such as one with the scope of a newer version, stops
 * everything until a person releases it: never less than the stop that was engaged.
 */
const readStop = (row: RowOf<typeof estopTable>): Stop => {
  try {
    return estopTable.read(row)
  } catch (error) {
    const { id, engaged_at, engaged_by, released_at, released_by, release_reason } = row
    return {
      id,
      scope: 'all',
      target: undefined,
      cellId: undefined,
      isLocal: false,
      engagedAt: Number(engaged_at) || 0,
      engagedBy: `${engaged_by}`,
      reason: `its row cannot be read: ${(error as Error).message}`,
      releasedAt: Number.isSafeInteger(released_at) ? Number(released_at) : undefined,
      releasedBy: released_by ?? undefined,
      releaseReason: release_reason ?? undefined,
    }
  }
}

/** Condition of a release time that is not a whole number: such a stop counts as in force. */
const isReleaseDamaged = sql<SqlBool>`cast(released_at as bigint) <> released_at`

/** Stops in force, and those released since then. */
export const readStops = async (db: Reader, releasedSince: number): Promise<Stop[]> => {
  const rows = await db
    .selectFrom('estops')
    .selectAll()
    .where(where =>
      where.or([
        where('released_at', 'is', null),
        where('released_at', '>=', releasedSince),
        isReleaseDamaged,
      ]),
    )
    .orderBy('engaged_at')
    .orderBy('id')
    .execute()
  return rows.map(readStop)
}

export const readStopsById = async (db: Reader, ids: readonly string[]): Promise<Stop[]> => {
  if (ids.length === 0) return []
  const rows = await db.selectFrom('estops').selectAll().where('id', 'in', ids).execute()
  return rows.map(readStop)
}

/**
 * Stores a stop of the fleet; one that another coordinator has taken over from the report of a cell
 * gets its whole scope back. A cell that claims it for its own machine cannot have released it, either.
 * Returns false when the stop is known already.
 */
export const insertStop = async (trx: SealedTrx, stop: Stop): Promise<boolean> => {
  const [known] = await readStopsById(trx, [stop.id])
  const isWidened = stop.cellId === undefined && known?.cellId !== undefined
  const isReleased = known?.releasedAt !== undefined && !known.isLocal
  if (known !== undefined && (!isWidened || isReleased)) return false
  const row = estopTable.write(stop)
  await trx
    .insertInto('estops')
    .values(row)
    .onConflict(conflict => conflict.column('id').doUpdateSet(row))
    .execute()
  return true
}

/**
 * Releases a stop; undefined for one that is unknown or released already. One whose time of release
 * is damaged is in force, and can be released.
 */
export const releaseStop = async (
  trx: SealedTrx,
  id: string,
  release: StopRelease,
): Promise<Stop | undefined> => {
  const [known] = await readStopsById(trx, [id])
  if (known === undefined || known.releasedAt !== undefined) return undefined
  const row = await trx
    .updateTable('estops')
    .set(estopTable.writeSome(release))
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
  return row && readStop(row)
}

/** Deletes stops that were released before a time; what happened to them is in the audit for as long. */
export const forgetReleased = (ledger: Ledger, releasedBefore: number): Promise<void> =>
  ledger.free.write(async trx => {
    await trx
      .deleteFrom('estops')
      .where('released_at', '<', releasedBefore)
      .where(where => where.not(isReleaseDamaged))
      .execute()
  })

interface ChangeRecord {
  stop: Stop
  what: 'engage' | 'release' | 'take_over'
  by: Actor
  at: number
}

/**
 * Numbers a change of a stop and records it, in the transaction that makes it. While the audit is in
 * doubt it records nothing there: a stop must be kept in any case.
 */
export const recordChange = async (
  trx: SealedTrx,
  { stop, what, by, at }: ChangeRecord,
): Promise<EventDraft> => {
  await nextSequence(trx, 'estops')
  await bumpRevision(trx, 'estops')
  const { estop_id, ...details } = stopData(stop)
  if ((await readTrouble(trx)) === undefined)
    await appendAudit(trx, {
      ...by,
      at,
      action: `estop.${what}`,
      subject: estop_id,
      outcome: 'done',
      details,
    })
  const type = what === 'release' ? 'shoal.device.released' : 'shoal.device.estopped'
  return { type, data: stopData(stop), subject: stop.id }
}
