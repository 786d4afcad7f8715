import type { Kysely, Transaction } from 'kysely'
import { bumpRevision } from './revisions.ts'
import type { LedgerTables } from './tables.ts'

type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>

/**
 * Returns the reason why the audit is in doubt, as recorded by any process; undefined while none
 * is.
 */
export const readTrouble = async (db: Reader): Promise<string | undefined> => {
  const row = await db.selectFrom('audit_trouble').select('reason').executeTakeFirst()
  return row?.reason
}

/**
 * Records why the audit is in doubt; returns false when it is already. The first reason is kept:
 * later ones follow from it.
 */
export const markTrouble = async (
  trx: Transaction<LedgerTables>,
  reason: string,
  at: number,
): Promise<boolean> => {
  const { numInsertedOrUpdatedRows = 0n } = await trx
    .insertInto('audit_trouble')
    .values({ id: 1, at, reason })
    .onConflict(conflict => conflict.column('id').doNothing())
    .executeTakeFirst()
  const isFirst = numInsertedOrUpdatedRows > 0n
  if (isFirst) await bumpRevision(trx, 'audit')
  return isFirst
}

export const clearTrouble = async (trx: Transaction<LedgerTables>): Promise<void> => {
  await trx.deleteFrom('audit_trouble').execute()
  await bumpRevision(trx, 'audit')
}

/** Returns the message with which every write is refused. */
export const refusalFor = (reason: string): string => `the audit was tampered with: ${reason}`
