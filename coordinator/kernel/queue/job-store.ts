import type { Transaction } from 'kysely'
import type { Runtime } from '../../../shared/runtime.ts'
import { DAY_MS } from '../../../shared/time.ts'
import { nextSequence } from '../store/sequences.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import { jobTable } from './job.table.ts'
import type { Job } from './job.ts'
import type { JobKind, JobKinds } from './job-kind.ts'
import { NEVER, openInLane } from './job-lanes.ts'

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

interface JobCreation extends Pick<Runtime, 'ids'> {
  /** Unix time, milliseconds. */
  now: number
}

/** Adds a job inside the transaction of the change that causes it. */
export const addJob = async (
  trx: SealedTrx,
  kind: JobKind,
  job: NewJob,
  creation: JobCreation,
): Promise<{ job: Job; added: boolean }> => {
  const known = job.onceKey === undefined ? undefined : await sameJob(trx, job.kind, job.onceKey)
  if (known !== undefined) return { job: known, added: false }
  const added = await createJob(trx, kind, job, creation)
  await trx.insertInto('jobs').values(jobTable.write(added)).execute()
  return { job: added, added: true }
}

export const findJob = async (trx: Trx, id: string): Promise<Job | undefined> => {
  const row = await trx.selectFrom('jobs').selectAll().where('id', '=', id).executeTakeFirst()
  return row && jobTable.read(row)
}

/** Makes jobs due that wait for their time; those of a lane wait for the jobs before them. */
export const hastenJobs = async (trx: Trx, ids: readonly string[], now: number): Promise<void> => {
  await trx
    .updateTable('jobs')
    .set({ not_before: now, due_at: now })
    .where('id', 'in', ids)
    .where('state', '=', 'queued')
    .where('lane', 'is', null)
    .where('due_at', '>', now)
    .execute()
}

const sameJob = async (trx: Trx, kind: string, onceKey: string): Promise<Job | undefined> => {
  const row = await trx
    .selectFrom('jobs')
    .selectAll()
    .where('kind', '=', kind)
    .where('once_key', '=', onceKey)
    .executeTakeFirst()
  return row && jobTable.read(row)
}

const createJob = async (
  trx: SealedTrx,
  kind: JobKind,
  job: NewJob,
  { now, ids }: JobCreation,
): Promise<Job> => {
  const notBefore = job.notBefore ?? now
  const waits = job.lane !== undefined && (await openInLane(trx, job.lane, 1)) > 0
  const payload: unknown = kind.payload.parse(job.payload)
  const { project, team, costCents = 0 } = kind.account(payload as never)
  return {
    seq: await nextSequence(trx, 'jobs'),
    id: ids.create('job', now),
    kind: job.kind,
    tenantId: job.tenantId,
    project,
    team,
    payload,
    priority: job.priority ?? 5,
    costCents,
    lane: job.lane,
    state: 'queued',
    notBefore,
    dueAt: waits ? NEVER : notBefore,
    attempts: 0,
    maxAttempts: kind.maxAttempts,
    worker: undefined,
    fence: 0,
    reason: undefined,
    onceKey: job.onceKey,
    createdAt: now,
    changedAt: now,
    endedAt: undefined,
  }
}

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
