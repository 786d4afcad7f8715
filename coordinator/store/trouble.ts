import type { Kysely } from 'kysely'
import type { LedgerTables } from './tables.ts'

type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>
type Writer = Pick<Kysely<LedgerTables>, 'insertInto' | 'deleteFrom'>

/** Why the audit is in doubt, as some process has found it; undefined while nobody has. */
export const readTrouble = async (db: Reader): Promise<string | undefined> => {
  const row = await db.selectFrom('audit_trouble').select('reason').executeTakeFirst()
  return row?.reason
}

/** What was found first stays: the rest follows from it. */
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

/** In the words in which every write is refused. */
export const refusalFor = (reason: string): string => `the audit was tampered with: ${reason}`
