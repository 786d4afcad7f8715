import type { Transaction } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import type { SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { jobTable } from './job.table.ts'
import { FINAL_JOB_STATES, type Job, OPEN_JOB_STATES } from './job.ts'
import type { JobKind } from './job-kind.ts'
import { sortLane, wakeLane } from './job-lanes.ts'

type Trx = Transaction<LedgerTables>

/** Cancels a job for an operator; a worker that runs it notices at its next lease renewal. */
export const cancelJob = async (trx: SealedTrx, job: Job, now: number): Promise<Job> => {
  // a worker may have claimed the job since it was read
  const row = await trx
    .updateTable('jobs')
    .set({ state: 'cancelled', reason: 'cancelled', changed_at: now, ended_at: now })
    .set(({ eb }) => ({ fence: eb('fence', '+', 1) }))
    .where('seq', '=', job.seq)
    .where('state', 'in', OPEN_JOB_STATES)
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) throw createStateError(job)
  if (row.lane !== null) await wakeLane(trx, row.lane)
  return jobTable.read(row)
}

/** Retries a job from the beginning, ahead of later jobs in its lane. */
export const retryJob = async (trx: SealedTrx, job: Job, now: number): Promise<Job> => {
  requireState(job, ['dead', 'cancelled'])
  const again: Job = {
    ...job,
    state: 'queued',
    attempts: 0,
    worker: undefined,
    endedAt: undefined,
    notBefore: now,
    dueAt: now,
    changedAt: now,
  }
  await replace(trx, again)
  if (job.lane !== undefined) await sortLane(trx, job.lane)
  return again
}

/** Throws `conflict` while a job has work that another command must end. */
export const requireEndedWork = async (
  trx: SealedTrx,
  kind: JobKind | undefined,
  { id, state, payload: stored }: Job,
): Promise<void> => {
  const payload = kind?.payload.safeParse(stored)
  if (!payload?.success) return
  const command = await kind?.findEndCommand?.(payload.data, trx)
  if (command === undefined) return
  const first = FINAL_JOB_STATES.includes(state) ? 'retry the job, and then ' : ''
  throw new ShoalError('conflict', `the work of job ${id} has not ended; ${first}use "${command}"`)
}

const replace = async (trx: Trx, job: Job): Promise<void> => {
  const { seq, ...values } = jobTable.write(job)
  await trx.updateTable('jobs').set(values).where('seq', '=', seq).execute()
}

/** Deletes a job that has ended, such as a dead letter. */
export const discardJob = async (trx: SealedTrx, job: Job): Promise<void> => {
  requireState(job, ['dead', 'cancelled', 'done'])
  await trx.deleteFrom('jobs').where('seq', '=', job.seq).execute()
}

const requireState = (job: Job, wanted: readonly string[]): void => {
  if (!wanted.includes(job.state)) throw createStateError(job)
}

const createStateError = ({ id, state }: Job): ShoalError =>
  new ShoalError('conflict', `job ${id} is ${state}`)
