import { sql, type Transaction } from 'kysely'
import { countAll } from '../store/count.ts'
import type { SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { OPEN_JOB_STATES } from './job.ts'

type Trx = Transaction<LedgerTables>

/**
 * Largest valid time (ECMA-262, 21.4.1.1); due time of a job that waits for another one of its
 * lane.
 */
export const NEVER = 8_640_000_000_000_000

/** Jobs of a lane that have not ended, counted up to a limit. */
export const openInLane = async (trx: Trx, lane: string, limit: number): Promise<number> => {
  const open = trx
    .selectFrom('jobs')
    .select('seq')
    .where('lane', '=', lane)
    .where('state', 'in', OPEN_JOB_STATES)
    .limit(limit)
    .as('open')
  const { count } = await trx
    .selectFrom(open)
    .select(countAll.as('count'))
    .executeTakeFirstOrThrow()
  return count
}

/**
 * Makes the oldest queued job of a lane due, unless a job of the lane is running. A worker may claim
 * that job at the same time: then it stays as the worker left it.
 */
export const wakeLane = async (trx: SealedTrx, lane: string): Promise<void> => {
  if (await runsInLane(trx, lane)) return
  await sql`update jobs set due_at = not_before where seq = (
    select min(seq) from jobs where lane = ${lane} and state = 'queued')
    and state = 'queued'`.execute(trx)
}

/**
 * Restores the order of a lane after a job returned to it, which may be older than those that wait.
 */
export const sortLane = async (trx: SealedTrx, lane: string): Promise<void> => {
  await trx
    .updateTable('jobs')
    .set({ due_at: NEVER })
    .where('lane', '=', lane)
    .where('state', '=', 'queued')
    .where('due_at', '<', NEVER)
    .execute()
  await wakeLane(trx, lane)
}

const runsInLane = async (trx: Trx, lane: string): Promise<boolean> => {
  const query = trx.selectFrom('jobs').select('seq').where('lane', '=', lane)
  return (await query.where('state', '=', 'running').executeTakeFirst()) !== undefined
}

/** Cancels the queued jobs of a lane; returns their number. */
export const cancelLane = async (
  trx: Trx,
  lane: string,
  reason: string,
  now: number,
): Promise<number> => {
  const { numUpdatedRows } = await trx
    .updateTable('jobs')
    .set({ state: 'cancelled', reason, changed_at: now, ended_at: now })
    .where('lane', '=', lane)
    .where('state', '=', 'queued')
    .executeTakeFirst()
  return Number(numUpdatedRows)
}
