import type { Transaction } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import type { SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import type { JobRow } from './job.table.ts'
import { FINAL_JOB_STATES, type JobState, OPEN_JOB_STATES } from './job.ts'
import type { JobKind } from './job-kind.ts'
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

/** Throws `conflict` while a job has work that another command must end. */
export const requireEndedWork = async (
  trx: SealedTrx,
  kind: JobKind | undefined,
  { id, state, payload_json }: JobRow,
): Promise<void> => {
  const payload = kind?.payload.safeParse(JSON.parse(payload_json))
  if (!payload?.success) return
  const command = await kind?.findEndCommand?.(payload.data, trx)
  if (command === undefined) return
  const first = FINAL_JOB_STATES.includes(state as JobState) ? 'retry the job, and then ' : ''
  throw new ShoalError('conflict', `the work of job ${id} has not ended; ${first}use "${command}"`)
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
