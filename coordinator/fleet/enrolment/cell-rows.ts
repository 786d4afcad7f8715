import type { Kysely, Transaction } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { CellRow } from './cell.table.ts'

export const readCellRow = (db: Kysely<LedgerTables>, id: string): Promise<CellRow | undefined> =>
  db.selectFrom('cells').selectAll().where('id', '=', id).executeTakeFirst()

/** Throws `not_found`. */
export const requireCellRow = async (trx: SealedTrx, id: string): Promise<CellRow> => {
  const row = await readCellRow(trx, id)
  if (row === undefined) throw new ShoalError('not_found', `no cell ${id}`)
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
