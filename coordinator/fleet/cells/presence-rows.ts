import type { Kysely } from 'kysely'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { cellPresenceTable } from './cell-presence.table.ts'
import { type CellView, cellViewTable } from './cell-view.table.ts'
import { isGone, PRESENCES, type Presence } from './presence.ts'

const GONE = PRESENCES.filter(isGone)

type Reading = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** Presence of cells as these coordinators see them. */
export const readViews = async (
  db: Reading,
  replicaIds: readonly string[],
  cellIds?: readonly string[],
): Promise<Map<string, CellView[]>> => {
  let query = db.selectFrom('cell_views').selectAll().where('replica_id', 'in', replicaIds)
  if (cellIds !== undefined) query = query.where('cell_id', 'in', cellIds)
  return Map.groupBy((await query.execute()).map(cellViewTable.read), ({ cellId }) => cellId)
}

/** Presence of cells as it was reported last. */
export const readPublishedPresence = async (
  db: Reading,
  cellIds?: readonly string[],
): Promise<Map<string, Presence>> => {
  let query = db.selectFrom('cell_presence').select(['cell_id', 'presence'])
  if (cellIds !== undefined) query = query.where('cell_id', 'in', cellIds)
  const published = (await query.execute()).map(cellPresenceTable.readSome)
  return new Map(published.map(({ cellId, presence }) => [cellId, presence]))
}

export const putViews = async (trx: SealedTrx, views: readonly CellView[]): Promise<void> => {
  if (views.length === 0) return
  await trx
    .insertInto('cell_views')
    .values(views.map(cellViewTable.write))
    .onConflict(conflict =>
      conflict
        .columns(['cell_id', 'replica_id'])
        .doUpdateSet(row => ({ presence: row.ref('excluded.presence') })),
    )
    .execute()
}

export const putPublishedPresence = async (
  trx: SealedTrx,
  told: readonly { cellId: string; presence: Presence }[],
  toldAt: number,
): Promise<void> => {
  if (told.length === 0) return
  await trx
    .insertInto('cell_presence')
    .values(told.map(one => cellPresenceTable.write({ ...one, toldAt })))
    .onConflict(conflict =>
      conflict
        .column('cell_id')
        .doUpdateSet(row => ({ presence: row.ref('excluded.presence'), told_at: toldAt })),
    )
    .execute()
}

/**
 * Forgets cells that a coordinator has dropped: its view of them, and everything about those that
 * are not enrolled any more or are in quarantine. A cell that was released may be back elsewhere.
 */
export const deletePresence = async (
  trx: SealedTrx,
  cellIds: readonly string[],
  replicaId: string,
): Promise<void> => {
  if (cellIds.length === 0) return
  await trx
    .deleteFrom('cell_views')
    .where('cell_id', 'in', cellIds)
    .where('replica_id', '=', replicaId)
    .execute()
  const ended = await listEnded(trx, cellIds)
  if (ended.length === 0) return
  await trx.deleteFrom('cell_views').where('cell_id', 'in', ended).execute()
  await trx.deleteFrom('cell_presence').where('cell_id', 'in', ended).execute()
}

const listEnded = async (trx: SealedTrx, cellIds: readonly string[]): Promise<string[]> => {
  const rows = await trx
    .selectFrom('cells')
    .select('id')
    .where('id', 'in', cellIds)
    .where('revoked_at', 'is', null)
    .where('quarantined_at', 'is', null)
    .execute()
  const active = new Set(rows.map(({ id }) => id))
  return cellIds.filter(id => !active.has(id))
}

/** Cells that were not reported as stopped or dead and that none of these coordinators sees. */
export const listUnseen = async (db: Reading, replicaIds: readonly string[]): Promise<string[]> => {
  const rows = await db
    .selectFrom('cell_presence')
    .select('cell_id')
    .where('presence', 'not in', GONE)
    .where(({ not, exists, selectFrom }) =>
      not(
        exists(
          selectFrom('cell_views')
            .select('replica_id')
            .whereRef('cell_views.cell_id', '=', 'cell_presence.cell_id')
            .where('replica_id', 'in', replicaIds),
        ),
      ),
    )
    .execute()
  return rows.map(row => row.cell_id)
}
