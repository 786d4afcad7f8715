import type { Transaction } from 'kysely'
import { ShoalError } from '../../shared/errors.ts'
import type { JobRow } from '../store/delivery-tables.ts'
import type { SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { OPEN_JOB_STATES } from './job.ts'
import { sortLane, wakeLane } from './job-lanes.ts'

type Trx = Transaction<LedgerTables>

/** Cancels a job for an operator; a worker that runs it notices at its next lease renewal. */
export const cancelJob = async (trx: SealedTrx, row: JobRow, now: number): Promise<JobRow> => {
  // a worker may have claimed the job since it was read
  const after = await trx
    .updateTable('jobs')
    .set({ state: 'cancelled', reason: 'cancelled', changed_at: now, ended_at: now })
    .set(({ eb }) => ({ fence: eb('fence', '+', 1) }))
    .where('seq', '=', row.seq)
    .where('state', 'in', OPEN_JOB_STATES)
    .returningAll()
    .executeTakeFirst()
  if (after === undefined) throw createStateError(row)
  if (after.lane !== null) await wakeLane(trx, after.lane)
  return after
}

/** Retries a job from the beginning, ahead of later jobs in its lane. */
export const retryJob = async (trx: SealedTrx, row: JobRow, now: number): Promise<JobRow> => {
  requireState(row, ['dead', 'cancelled'])
  const values = { state: 'queued', attempts: 0, worker: null, ended_at: null, not_before: now }
  const after = { ...row, ...values, due_at: now, changed_at: now }
  await replace(trx, after)
  if (row.lane !== null) await sortLane(trx, row.lane)
  return after
}

const replace = async (trx: Trx, { seq, ...values }: JobRow): Promise<void> => {
  await trx.updateTable('jobs').set(values).where('seq', '=', seq).execute()
}

/** Deletes a job that has ended, such as a dead letter. */
export const discardJob = async (trx: SealedTrx, row: JobRow): Promise<void> => {
  requireState(row, ['dead', 'cancelled', 'done'])
  await trx.deleteFrom('jobs').where('seq', '=', row.seq).execute()
}

const requireState = (row: JobRow, wanted: readonly string[]): void => {
  if (!wanted.includes(row.state)) throw createStateError(row)
}

const createStateError = ({ id, state }: JobRow): ShoalError =>
  new ShoalError('conflict', `job ${id} is ${state}`)
