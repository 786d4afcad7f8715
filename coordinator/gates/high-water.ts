import type { Transaction } from 'kysely'
import { ShoalError } from '../../shared/errors.ts'
import type { LedgerTables } from '../store/tables.ts'

const NAME = 'gates'
/** Clocks of the machines of one service differ by that much at most. */
const TOLERANCE_MS = 5000

/**
 * Keeps the latest time that a gate has seen. Throws `conflict` when the clock stands before it:
 * one that was set back would bring approvals back to life that have expired.
 */
export const passTime = async (trx: Transaction<LedgerTables>, now: number): Promise<void> => {
  const row = await trx
    .selectFrom('clocks')
    .select('at')
    .where('name', '=', NAME)
    .executeTakeFirst()
  const seen = row?.at ?? 0
  if (now < seen - TOLERANCE_MS)
    throw new ShoalError(
      'conflict',
      `the clock stands ${Math.round((seen - now) / 1000)} s before the last decision; set it right`,
    )
  if (now <= seen) return
  await trx
    .insertInto('clocks')
    .values({ name: NAME, at: now })
    .onConflict(conflict => conflict.column('name').doUpdateSet({ at: now }))
    .execute()
}
