import type { Kysely } from 'kysely'
import { ShoalError } from '../../shared/errors.ts'
import type { LedgerTables } from '../store/tables.ts'
import type { Trx } from './asking.ts'

const NAME = 'gates'
/** Clocks of the machines of one service differ by that much at most. */
const TOLERANCE_MS = 5000

type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>

const seenAt = async (db: Reader): Promise<number> => {
  const row = await db.selectFrom('clocks').select('at').where('name', '=', NAME).executeTakeFirst()
  return row?.at ?? 0
}

/** The latest time that a gate has seen, when the clock was set back to before it. */
export const seenAhead = async (db: Reader, now: number): Promise<number | undefined> => {
  const seen = await seenAt(db)
  return now < seen - TOLERANCE_MS ? seen : undefined
}

/**
 * Keeps the latest time that a gate has seen. Throws `conflict` when the clock stands before it:
 * one that was set back would bring approvals back to life that have expired.
 */
export const passTime = async (trx: Trx, now: number): Promise<void> => {
  const ahead = await seenAhead(trx, now)
  if (ahead !== undefined)
    throw new ShoalError(
      'conflict',
      `the clock stands ${Math.round((ahead - now) / 1000)} s before the last decision; try again`,
    )
  if (now > (await seenAt(trx))) await keepTime(trx, now)
}

const keepTime = async (trx: Trx, at: number): Promise<void> => {
  await trx
    .insertInto('clocks')
    .values({ name: NAME, at })
    .onConflict(conflict => conflict.column('name').doUpdateSet({ at }))
    .execute()
}

/**
 * Goes on by a clock that was set back, and answers the open requests that must end with it: all
 * that are approved, because how much of an approval's time is over cannot be told any more, and
 * those that wait and were made later than now or had ended. Nothing while the clock goes on.
 */
export const setBack = async (
  trx: Trx,
  now: number,
): Promise<{ seen: number; ids: string[] } | undefined> => {
  const seen = await seenAhead(trx, now)
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
