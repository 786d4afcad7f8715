import { type Selectable, sql, type Transaction } from 'kysely'
import { ShoalError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import { DAY_MS } from '../../shared/time.ts'
import type { JobRow } from '../store/delivery-tables.ts'
import { nextSequence } from '../store/sequences.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { type Job, jobOf } from './job.ts'
import type { JobKind, JobKinds } from './job-kind.ts'

type Trx = Transaction<LedgerTables>

export interface NewJob {
  kind: string
  payload: unknown
  tenantId?: string
  /** Priority from 0 to 9, 5 when absent; higher ones go first. */
  priority?: number
  lane?: string
  /** Earliest start in Unix milliseconds; at once when absent. */
  notBefore?: number
  /** Idempotency key, unique per kind: adding a second job with it returns the first one. */
  onceKey?: string
}

/**
 * Largest valid time (ECMA-262, 21.4.1.1); due time of a job that waits for another one of its
 * lane.
 */
const NEVER = 8_640_000_000_000_000
const OPEN = ['queued', 'running']

/** Adds a job inside the transaction of the change that causes it. */
export const addJob = async (
  trx: SealedTrx,
  kind: JobKind,
  job: NewJob,
  now: number,
): Promise<{ job: Job; added: boolean }> => {
  const known = job.onceKey === undefined ? undefined : await sameJob(trx, job.kind, job.onceKey)
  if (known !== undefined) return { job: jobOf(known), added: false }
  const row = await rowOf(trx, kind, job, now)
  await trx.insertInto('jobs').values(row).execute()
  return { job: jobOf(row), added: true }
}

export const findJob = (trx: Trx, id: string): Promise<JobRow | undefined> =>
  trx.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirst()

const sameJob = (trx: Trx, kind: string, onceKey: string): Promise<JobRow | undefined> =>
  trx
    .selectFrom('jobs')
    .selectAll()
    .where('kind', '=', kind)
    .where('once_key', '=', onceKey)
    .executeTakeFirst()

const rowOf = async (trx: SealedTrx, kind: JobKind, job: NewJob, now: number): Promise<JobRow> => {
  const notBefore = job.notBefore ?? now
  const waits = job.lane !== undefined && (await openInLane(trx, job.lane, 1)) > 0
  const payload: unknown = kind.payload.parse(job.payload)
  const { project, team, costCents = 0 } = kind.account(payload as never)
  return {
    seq: await nextSequence(trx, 'jobs'),
    id: newId('job', now),
    kind: job.kind,
    tenant_id: job.tenantId ?? null,
    project,
    team: team ?? null,
    payload_json: JSON.stringify(payload),
    priority: job.priority ?? 5,
    cost_cents: costCents,
    lane: job.lane ?? null,
    state: 'queued',
    not_before: notBefore,
    due_at: waits ? NEVER : notBefore,
    attempts: 0,
    max_attempts: kind.maxAttempts,
    worker: null,
    fence: 0,
    reason: null,
    once_key: job.onceKey ?? null,
    created_at: now,
    changed_at: now,
    ended_at: null,
  }
}

/** Jobs of a lane that have not ended, counted up to a limit. */
export const openInLane = async (trx: Trx, lane: string, limit: number): Promise<number> => {
  const found = await trx
    .selectFrom('jobs')
    .select('seq')
    .where('lane', '=', lane)
    .where('state', 'in', OPEN)
    .limit(limit)
    .execute()
  return found.length
}

interface ClaimedJobs {
  taken: Job[]
  /**
   * Jobs without attempts left because their workers were lost; the caller ends them with `endJob`.
   */
  givenUp: Job[]
}

/**
 * Claims due jobs of one kind, the most urgent first, in one conditional UPDATE, so that only one
 * of several workers gets each, and others get other jobs at the same time. A job whose lease
 * expired is due again; one that has used up its attempts that way is given up.
 */
export const claimJobs = async (
  { free, skipLocked }: Pick<Ledger, 'free' | 'skipLocked'>,
  kind: JobKind,
  { limit, worker, now }: { limit: number; worker: string; now: number },
): Promise<ClaimedJobs> => {
  // materialized, so that the rows are chosen and locked once
  const claim = sql<Selectable<JobRow>>`
    with due as materialized (
      select seq from jobs where kind = ${kind.kind} and state in ('queued', 'running')
        and due_at <= ${now} order by priority desc, seq limit ${limit} ${skipLocked})
    update jobs set state = 'running', worker = ${worker}, fence = fence + 1,
      attempts = attempts + 1, due_at = ${now + kind.leaseSeconds * 1000}, changed_at = ${now}
    where due_at <= ${now} and seq in (select seq from due)
    returning *`
  const { rows } = await free.write(trx => claim.execute(trx))
  const jobs = rows.toSorted((a, b) => b.priority - a.priority || a.seq - b.seq).map(jobOf)
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

/**
 * Update that applies only while the claim is current, so that only its worker can change the job.
 */
const updateClaimed = (trx: Trx, { id, fence }: Job) =>
  trx
    .updateTable('jobs')
    .where('id', '=', id)
    .where('fence', '=', fence)
    .where('state', '=', 'running')

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

/**
 * Makes the oldest queued job of a lane due, unless a job of the lane is running. A worker may claim
 * that job at the same time: then it stays as the worker left it.
 */
const wakeLane = async (trx: SealedTrx, lane: string): Promise<void> => {
  if (await runsInLane(trx, lane)) return
  await sql`update jobs set due_at = not_before where seq = (
    select min(seq) from jobs where lane = ${lane} and state = 'queued')
    and state = 'queued'`.execute(trx)
}

/**
 * Restores the order of a lane after a job returned to it, which may be older than those that wait.
 */
const sortLane = async (trx: SealedTrx, lane: string): Promise<void> => {
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

/** Cancels a job for an operator; a worker that runs it notices at its next lease renewal. */
export const cancelJob = async (trx: SealedTrx, row: JobRow, now: number): Promise<JobRow> => {
  // a worker may have claimed the job since it was read
  const after = await trx
    .updateTable('jobs')
    .set({ state: 'cancelled', reason: 'cancelled', changed_at: now, ended_at: now })
    .set(({ eb }) => ({ fence: eb('fence', '+', 1) }))
    .where('seq', '=', row.seq)
    .where('state', 'in', OPEN)
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

/** Deletes the jobs that ended longer ago than their kinds keep them. */
export const forgetJobs = (
  { free }: Pick<Ledger, 'free'>,
  kinds: JobKinds,
  now: number,
): Promise<void> =>
  free.write(async trx => {
    for (const { kind, keptDays } of kinds.values())
      await forgetEnded(trx, kind, now - keptDays * DAY_MS)
  })

const forgetEnded = async (trx: Trx, kind: string, before: number): Promise<void> => {
  await trx
    .deleteFrom('jobs')
    .where('kind', '=', kind)
    .where('state', 'in', ['done', 'dead', 'cancelled'])
    .where('ended_at', '<', before)
    .execute()
}
