import type { Kysely } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import type { Trx } from './asking.ts'

const NAME = 'gates'
/** Largest difference between the clocks of one service's machines. */
const TOLERANCE_MS = 5000

type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>

const readLatestTime = async (db: Reader): Promise<number> => {
  const row = await db.selectFrom('clocks').select('at').where('name', '=', NAME).executeTakeFirst()
  return row?.at ?? 0
}

/** The latest time that a gate has seen; undefined unless the clock is behind it. */
export const findTimeAhead = async (db: Reader, now: number): Promise<number | undefined> => {
  const seen = await readLatestTime(db)
  return now < seen - TOLERANCE_MS ? seen : undefined
}

/**
 * Records the latest time that a gate has seen. Throws `conflict` while the clock of the database is
 * behind it, because a clock that was set back would revive expired approvals, and while this
 * process has not followed the clock yet, as after a suspension of its machine.
 */
export const passTime = async (
  trx: Trx,
  { nowMs }: Pick<Ledger, 'nowMs'>,
  ownNow: number,
): Promise<void> => {
  const now = await nowMs(trx)
  const seen = await readLatestTime(trx)
  const behindMs = seen - Math.min(now, ownNow)
  if (behindMs > TOLERANCE_MS)
    throw new ShoalError(
      'conflict',
      `the clock stands ${Math.round(behindMs / 1000)} s before the last decision; try again`,
    )
  if (now > seen) await keepTime(trx, now)
}

const keepTime = async (trx: Trx, at: number): Promise<void> => {
  await trx
    .insertInto('clocks')
    .values({ name: NAME, at })
    .onConflict(conflict => conflict.column('name').doUpdateSet({ at }))
    .execute()
}

/**
 * Accepts a clock that was set back, and returns the open requests that must end with it: all
 * approved ones, because the elapsed part of their time is unknown, and the pending ones that were
 * created in the future or were overdue. Returns none while the clock goes forward.
 */
export const setBack = async (
  trx: Trx,
  now: number,
): Promise<{ seen: number; ids: string[] } | undefined> => {
  const seen = await findTimeAhead(trx, now)
  if (seen === undefined) return undefined
  await keepTime(trx, now)
  const rows = await trx
    .selectFrom('gate_requests')
    .select('id')
    .where(({ and, eb, or }) =>
      or([
        eb('state', '=', 'approved'),
        and([
          eb('state', '=', 'pending'),
          or([eb('created_at', '>', now), eb('expires_at', '<=', seen)]),
        ]),
      ]),
    )
    .execute()
  return { seen, ids: rows.map(({ id }) => id) }
}
