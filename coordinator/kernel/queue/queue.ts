import type { Transaction } from 'kysely'
import type { Runtime } from '../../../shared/runtime.ts'
import { type Actor, appendAudit } from '../audit/audit.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import type { LedgerTables } from '../store/tables.ts'
import type { Job } from './job.ts'
import { cancelJob, discardJob, requireEndedWork, retryJob } from './job-decisions.ts'
import type { JobKind, JobKinds } from './job-kind.ts'
import {
  type BoardLine,
  type JobFilter,
  type JobScope,
  readBoard,
  readJob,
  readJobs,
} from './job-query.ts'
import { addJob, findJob, hastenJobs, type NewJob } from './job-store.ts'

/** Durable job queue; each job is done at least once, by any process that is free. */
export interface Queue {
  /**
   * Adds a job and resolves when it is on the disk. Throws when the payload does not fit the kind.
   */
  add(job: NewJob): Promise<Job>
  /**
   * Adds a job inside the transaction of the change that causes it; call `wake` after the commit.
   */
  addWithin(trx: SealedTrx, job: NewJob): Promise<Job>
  /** Makes waiting jobs of any tenant due now; call `wake` after the commit. */
  hastenWithin(trx: Transaction<LedgerTables>, ids: readonly string[]): Promise<void>
  /** Reads a job of any tenant inside a transaction; undefined once the job was deleted. */
  findWithin(trx: Transaction<LedgerTables>, id: string): Promise<Job | undefined>
  /** Signals that there may be new work. */
  wake(): void
  /**
   * Reads a job. Throws `not_found`, like every method that takes an id, also for a job of another
   * tenant.
   */
  get(id: string, scope: JobScope): Promise<Job>
  /** Returns the matching jobs, newest first. */
  list(filter: JobFilter, scope: JobScope): Promise<Job[]>
  board(scope: JobScope): Promise<BoardLine[]>
  /** Retries a job from the beginning. Throws `conflict` unless it was given up or cancelled. */
  retry(id: string, scope: JobScope, by: Actor): Promise<Job>
  /** Cancels a job. Throws `conflict` when it has ended, and for work that another command ends. */
  cancel(id: string, scope: JobScope, by: Actor): Promise<Job>
  /** Deletes a job. Throws `conflict` unless it and its work have ended. */
  discard(id: string, scope: JobScope, by: Actor): Promise<Job>
}

interface QueueParts extends Pick<Runtime, 'ids'> {
  ledger: Ledger
  kinds: () => JobKinds
  /** Unix time, milliseconds. */
  now: () => number
  wake?: () => void
}

export const createQueue = ({ ledger, kinds, now, ids, wake = () => {} }: QueueParts): Queue => {
  const kindOf = (name: string): JobKind => {
    const kind = kinds().get(name)
    if (kind === undefined) throw new TypeError(`there is no kind of job ${name}`)
    return kind
  }
  const addWithin: Queue['addWithin'] = async (trx, job) =>
    (await addJob(trx, kindOf(job.kind), job, { now: now(), ids })).job

  /** Applies a person's change to a job, with its row in the audit. */
  const change = async (
    verb: string,
    [id, scope, by]: [string, JobScope, Actor],
    apply: (trx: SealedTrx, job: Job) => Promise<Job>,
  ): Promise<Job> => {
    const after = await ledger.sealed.write(async trx => {
      const before = await readJob(trx, id, scope)
      const job = await apply(trx, before)
      const about = { tenant: scope.tenantId, action: `job.${verb}`, subject: id }
      const details = { kind: job.kind, was: before.state }
      await appendAudit(trx, { ...by, at: now(), ...about, outcome: 'done', details })
      return job
    })
    wake()
    return after
  }

  return {
    add: async job => {
      const added = await ledger.sealed.write(trx => addWithin(trx, job))
      wake()
      return added
    },
    addWithin,
    hastenWithin: (trx, ids) => hastenJobs(trx, ids, now()),
    findWithin: findJob,
    wake,
    get: (id, scope) => readJob(ledger.read, id, scope),
    list: (filter, scope) => readJobs(ledger.read, filter, scope),
    board: scope => readBoard(ledger.read, scope),
    retry: (...asked) => change('retry', asked, (trx, job) => retryJob(trx, job, now())),
    cancel: (...asked) =>
      change('cancel', asked, async (trx, job) => {
        await requireEndedWork(trx, kinds().get(job.kind), job)
        return cancelJob(trx, job, now())
      }),
    discard: (...asked) =>
      change('discard', asked, async (trx, job) => {
        await requireEndedWork(trx, kinds().get(job.kind), job)
        await discardJob(trx, job)
        return job
      }),
  }
}
