import type { Kysely, Transaction } from 'kysely'
import { createUnknownError } from '../../../shared/references.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { CellRow } from './cell.table.ts'

export const readCellRow = (db: Kysely<LedgerTables>, id: string): Promise<CellRow | undefined> =>
  db.selectFrom('cells').selectAll().where('id', '=', id).executeTakeFirst()

/** Throws `not_found`. */
export const requireCellRow = async (trx: SealedTrx, id: string): Promise<CellRow> => {
  const row = await readCellRow(trx, id)
  if (row === undefined) throw createUnknownError('cell', id)
  return row
}

/** Returns the cell under each of its valid credentials: the settled one and the next. */
export const readCredentials = async (
  db: Kysely<LedgerTables>,
  id: string,
): Promise<{ value: CellRow; digest: string }[]> => {
  const row = await readCellRow(db, id)
  if (row === undefined) return []
  return [row.digest, row.next_digest]
    .filter(digest => digest !== null)
    .map(digest => ({ value: row, digest }))
}

/** Returns the highest epoch afterwards, which may be above the one given. */
export const raiseEpoch = async (
  trx: Transaction<LedgerTables>,
  cellId: string,
  epoch: number,
): Promise<number> => {
  await trx
    .updateTable('cells')
    .set({ epoch })
    .where('id', '=', cellId)
    .where('epoch', '<', epoch)
    .execute()
  const query = trx.selectFrom('cells').select('epoch').where('id', '=', cellId)
  return (await query.executeTakeFirstOrThrow()).epoch
}

/** Reads the keys with which these cells sign, by cell. */
export const readPublicKeys = async (
  db: Kysely<LedgerTables>,
  ids: readonly string[],
): Promise<Map<string, string>> => {
  const query = db.selectFrom('cells').select(['id', 'public_key']).where('id', 'in', ids)
  const rows = await query.execute()
  return new Map(rows.flatMap(({ id, public_key: key }) => (key === null ? [] : [[id, key]])))
}

/** Lists the cells, oldest first. */
export const listCellRows = (db: Kysely<LedgerTables>): Promise<CellRow[]> =>
  db.selectFrom('cells').selectAll().orderBy('enrolled_at').orderBy('id').execute()

/** Lists the cells that were enrolled with one of these names and are not revoked. */
export const listLiveNamed = (
  db: Kysely<LedgerTables>,
  names: readonly string[],
): Promise<Pick<CellRow, 'id' | 'name'>[]> => {
  const query = db.selectFrom('cells').select(['id', 'name']).where('name', 'in', names)
  return query.where('revoked_at', 'is', null).execute()
}
