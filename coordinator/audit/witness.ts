import type { Ledger } from '../store/store.ts'
import type { Head } from './audit.ts'

/** What is wrong with the row that somebody has seen as the newest; undefined when it is there. */
export const witnessProblem = async (
  { read }: Ledger,
  { seq, hash }: Head,
): Promise<string | undefined> => {
  const row = await read
    .selectFrom('audit')
    .select('hash')
    .where('seq', '=', seq)
    .executeTakeFirst()
  if (row === undefined) return `row ${seq} was seen and is gone: the end was cut off`
  return row.hash === hash ? undefined : `row ${seq} is not the one that was seen`
}
