import type { Transaction } from 'kysely'
import { newId } from '../../../shared/ids.ts'
import { DAY_MS } from '../../../shared/time.ts'
import { nextSequence } from '../store/sequences.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import type { JobRow } from './job.table.ts'
import { type Job, jobOf } from './job.ts'
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
