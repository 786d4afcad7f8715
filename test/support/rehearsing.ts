import { sql, type Transaction } from 'kysely'
import type { ChangeHook } from '../../coordinator/kernel/store/change-hook.ts'

/**
 * Runs every free work twice in its transaction, the first time for nothing, as an engine does
 * after a conflict: a work that has an effect outside its transaction fails its test.
 */
export const rehearseFreeWork =
  <T>(): ChangeHook<T> =>
  (work, commit, lane) =>
    commit(async trx => {
      // what is noted for a transaction, by the object, must not outlive the rehearsal either
      if (lane === 'free') await rehearse(trx, () => work(trx.$extendTables() as typeof trx))
      return work(trx)
    })

const rehearse = async <T>(trx: Transaction<T>, run: () => Promise<unknown>): Promise<void> => {
  await sql`savepoint rehearsal`.execute(trx)
  try {
    await run()
  } catch {
    // the second run reports it
  }
  await sql`rollback to savepoint rehearsal`.execute(trx)
  await sql`release savepoint rehearsal`.execute(trx)
}
