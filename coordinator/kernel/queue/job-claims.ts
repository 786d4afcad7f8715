import { sql, type Transaction } from 'kysely'
import type { Logger } from 'pino'
import { updateFenced } from '../leases/fenced-rows.ts'
import type { RowOf } from '../store/define-table.ts'
import { readEach } from '../store/read-each.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { jobTable } from './job.table.ts'
import type { Job } from './job.ts'
import type { JobKind } from './job-kind.ts'
import { sortLane, wakeLane } from './job-lanes.ts'

type Trx = Transaction<LedgerTables>

interface ClaimedJobs {
  taken: Job[]
  /**
   * Jobs without attempts left because their workers were lost; the caller ends them with `endJob`.
   */
  givenUp: Job[]
}

interface ClaimOptions {
  limit: number
  worker: string
  now: number
  logger: Pick<Logger, 'warn'>
}

/**
 * Claims due jobs of one kind, the most urgent first, in one conditional UPDATE, so that only one
 * of several workers gets each, and others get other jobs at the same time. A job whose lease
 * expired is due again; one that has used up its attempts that way is given up, where that counts.
 * One that cannot be read is left to its lease, and does not keep the others from running.
 */
export const claimJobs = async (
  { free, skipLocked }: Pick<Ledger, 'free' | 'skipLocked'>,
  kind: JobKind,
  { limit, worker, now, logger }: ClaimOptions,
): Promise<ClaimedJobs> => {
  const lossCount = kind.countsLosses === false ? 0 : 1
  // materialized, so that the rows are chosen and locked once
  const claim = sql<RowOf<typeof jobTable>>`
    with due as materialized (
      select seq from jobs where kind = ${kind.kind} and state in ('queued', 'running')
        and due_at <= ${now} order by priority desc, seq limit ${limit} ${skipLocked})
    update jobs set state = 'running', worker = ${worker}, fence = fence + 1,
      attempts = attempts + case state when 'running' then ${lossCount} else 1 end,
      due_at = ${now + kind.leaseSeconds * 1000}, changed_at = ${now}
    where due_at <= ${now} and seq in (select seq from due)
    returning *`
  const { rows } = await free.write(trx => claim.execute(trx))
  const sorted = rows.toSorted((a, b) => b.priority - a.priority || a.seq - b.seq)
  const jobs = readEach(sorted, jobTable.read, logger)
  return {
    taken: jobs.filter(({ attempts, maxAttempts }) => attempts <= maxAttempts),
    givenUp: jobs.filter(({ attempts, maxAttempts }) => attempts > maxAttempts),
  }
}

/** Returns false when the lease is lost: another worker has the job, or it was cancelled. */
export const renewLease = async (trx: Trx, job: Job, until: number): Promise<boolean> => {
  const { numUpdatedRows } = await updateClaimed(trx, job).set({ due_at: until }).executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Update that applies only while the job runs under this claim. */
const updateClaimed = (trx: Trx, job: Job) =>
  updateFenced(trx, 'jobs', job).where('state', '=', 'running')

interface JobEnd {
  state: 'done' | 'dead'
  reason?: string
  now: number
}

/**
 * Ends a job and makes the next one of its lane due. Returns a function to call after the commit,
 * or undefined when the lease was lost before. Sealed, like every change of a lane, because it
 * first reads whether another job of the lane runs.
 */
export const endJob = async (
  trx: SealedTrx,
  kind: JobKind,
  job: Job,
  { state, reason, now }: JobEnd,
): Promise<(() => void) | undefined> => {
  const { numUpdatedRows } = await updateClaimed(trx, job)
    .set({ state, reason: reason ?? null, changed_at: now, ended_at: now })
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return undefined
  if (job.lane !== undefined) await wakeLane(trx, job.lane)
  const payload = kind.payload.safeParse(job.payload)
  const committed =
    payload.success && (await kind.onEnd?.(payload.data, { ...job, state, endedAt: now }, trx))
  return committed || (() => {})
}

/**
 * Returns a job to the queue; `counts` is whether the attempt counts. Returns false when the lease
 * was lost.
 */
export const putBack = async (
  trx: SealedTrx,
  job: Job,
  { at, reason, counts, now }: { at: number; reason?: string; counts: boolean; now: number },
): Promise<boolean> => {
  const { numUpdatedRows } = await updateClaimed(trx, job)
    .set({
      state: 'queued',
      worker: null,
      not_before: at,
      due_at: at,
      attempts: job.attempts - (counts ? 0 : 1),
      reason: reason ?? null,
      changed_at: now,
    })
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  if (job.lane !== undefined) await sortLane(trx, job.lane)
  return true
}
