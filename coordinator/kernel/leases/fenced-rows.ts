import type { Selectable, Transaction, UpdateQueryBuilder, UpdateResult } from 'kysely'
import type { LedgerTables } from '../store/tables.ts'

/** Tables whose rows belong to one claim at a time: `fence` is the number of the newest claim. */
type FencedTable = {
  [T in keyof LedgerTables]: LedgerTables[T] extends { id: string; fence: number } ? T : never
}[keyof LedgerTables]

/** A row, and the number of the claim under which it is written. */
interface FencedClaim {
  id: string
  fence: number
}

type FencedUpdate<T extends FencedTable> = UpdateQueryBuilder<LedgerTables, T, T, UpdateResult>
type FencedTrx = Transaction<Record<string, FencedClaim>>

/**
 * Update of a row that applies only while no later claim has it. The fence is part of the statement
 * that writes, so that a process which was paused for longer than its lease writes nothing.
 */
export const updateFenced = <T extends FencedTable>(
  trx: Transaction<LedgerTables>,
  table: T,
  { id, fence }: FencedClaim,
): FencedUpdate<T> =>
  (trx as unknown as FencedTrx)
    .updateTable(table as string)
    .where('id', '=', id)
    .where('fence', '=', fence) as unknown as FencedUpdate<T>

/**
 * Takes a row for a claim, so that earlier claims can change nothing any more. Undefined when a
 * later claim has it, or there is no such row.
 */
export const takeFenced = async <T extends FencedTable>(
  trx: Transaction<LedgerTables>,
  table: T,
  { id, fence }: FencedClaim,
): Promise<Selectable<LedgerTables[T]> | undefined> => {
  const taken = await (trx as unknown as FencedTrx)
    .updateTable(table as string)
    .set({ fence })
    .where('id', '=', id)
    .where('fence', '<=', fence)
    .returningAll()
    .executeTakeFirst()
  return taken as Selectable<LedgerTables[T]> | undefined
}
