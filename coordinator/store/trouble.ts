import type { Kysely } from 'kysely'
import type { LedgerTables } from './tables.ts'

type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>
type Writer = Pick<Kysely<LedgerTables>, 'insertInto' | 'deleteFrom'>

/**
 * Returns the reason why the audit is in doubt, as recorded by any process; undefined while none
 * is.
 */
export const readTrouble = async (db: Reader): Promise<string | undefined> => {
  const row = await db.selectFrom('audit_trouble').select('reason').executeTakeFirst()
  return row?.reason
}

/** Records why the audit is in doubt. The first reason is kept: later ones follow from it. */
export const markTrouble = async (db: Writer, reason: string, at: number): Promise<void> => {
  await db
    .insertInto('audit_trouble')
    .values({ id: 1, at, reason })
    .onConflict(conflict => conflict.column('id').doNothing())
    .execute()
}

export const clearTrouble = async (db: Writer): Promise<void> => {
  await db.deleteFrom('audit_trouble').execute()
}

/** Returns the message with which every write is refused. */
export const refusalFor = (reason: string): string => `the audit was tampered with: ${reason}`
