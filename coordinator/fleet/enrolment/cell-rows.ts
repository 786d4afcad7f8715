import type { Kysely, Transaction } from 'kysely'
import type { Logger } from 'pino'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import type { SealedTrx } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { cellTable, type StoredCell } from './cell.table.ts'

export const readCell = async (
  db: Kysely<LedgerTables>,
  id: string,
): Promise<StoredCell | undefined> => {
  const row = await db.selectFrom('cells').selectAll().where('id', '=', id).executeTakeFirst()
  return row && cellTable.read(row)
}

/** Throws `not_found`. */
export const requireCell = async (trx: SealedTrx, id: string): Promise<StoredCell> => {
  const cell = await readCell(trx, id)
  if (cell === undefined) throw createUnknownError('cell', id)
  return cell
}

/** Returns the cell under each of its valid credentials: the settled one and the next. */
export const readCredentials = async (
  db: Kysely<LedgerTables>,
  id: string,
): Promise<{ value: StoredCell; digest: string }[]> => {
  const cell = await readCell(db, id)
  if (cell === undefined) return []
  return [cell.digest, cell.nextDigest]
    .filter(digest => digest !== undefined)
    .map(digest => ({ value: cell, digest }))
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

/**
 * Lists the cells, oldest first. A cell that cannot be read, which is refused when it connects, is
 * left out.
 */
export const listCells = async (
  db: Kysely<LedgerTables>,
  logger: Pick<Logger, 'warn'> | undefined,
): Promise<StoredCell[]> => {
  const query = db.selectFrom('cells').selectAll().orderBy('enrolled_at').orderBy('id')
  return readEach(await query.execute(), cellTable.read, logger)
}

/** Lists the cells that were enrolled with one of these names and are not revoked. */
export const listLiveNamed = (
  db: Kysely<LedgerTables>,
  names: readonly string[],
): Promise<Pick<StoredCell, 'id' | 'name'>[]> => {
  const query = db.selectFrom('cells').select(['id', 'name']).where('name', 'in', names)
  return query.where('revoked_at', 'is', null).execute()
}
