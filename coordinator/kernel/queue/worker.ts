import type { Logger } from 'pino'
import { backOffMs } from '../../../shared/back-off.ts'
import { type Runtime, sleep, timeoutSignal } from '../../../shared/runtime.ts'
import { createElapsedMs } from '../leases/elapsed.ts'
import type { Ledger, SealedTrx } from '../store/store.ts'
import type { Job } from './job.ts'
import { claimJobs, endJob, putBack } from './job-claims.ts'
import { JobError } from './job-error.ts'
import type { JobKind, JobKinds } from './job-kind.ts'
import { keepLease } from './job-lease.ts'
import { listDueKinds } from './job-query.ts'

type JobOutcome = 'done' | 'retried' | 'dead' | 'lost' | 'early'

export interface WorkerParts {
  ledger: Ledger
  kinds: JobKinds
  /** Unique among all processes that share the store. */
  id: string
  logger: Pick<Logger, 'warn' | 'info'>
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Runtime
  /** Receives the outcome of each attempt. */
  onOutcome?: (kind: string, outcome: JobOutcome) => void
  /** Runs in the transaction that gives up a job, unless its kind opts out. */
  onGiveUp?: (trx: SealedTrx, job: Job, reason: string) => Promise<void>
}

/** A job that ignores cancellation for this long is abandoned; its lease expires. */
const CLOSE_MS = 5000

/** Runs the jobs of every kind, each within its own concurrency, so that a slow kind delays no other. */
export class Worker {
  readonly #parts: WorkerParts
  readonly #runtime: Runtime
  readonly #elapsedMs: () => number
  readonly #closing = new AbortController()
  readonly #counts = new Map<string, number>()
  readonly #attempts = new Set<Promise<void>>()
  #looking: Promise<void> | undefined
  #looksAgain = false

  private constructor(parts: WorkerParts) {
    this.#parts = parts
    this.#runtime = parts.runtime
    this.#elapsedMs = createElapsedMs(parts.runtime)
  }

  static start(parts: WorkerParts): Worker {
    const worker = new Worker(parts)
    worker.wake()
    return worker
  }

  /** Looks for work now, or as soon as the current look ends. */
  wake(): void {
    this.#looksAgain = true
    if (this.#closing.signal.aborted) return
    this.#looking ??= this.#look()
      .catch(error => this.#parts.logger.warn({ err: error }, 'the queue could not be read'))
      .finally(() => {
        this.#looking = undefined
        if (this.#looksAgain) this.wake()
      })
  }

  /** Number of attempts in progress, by kind. */
  countRunning(): ReadonlyMap<string, number> {
    return this.#counts
  }

  /** Stops claiming jobs; attempts in progress are aborted and return to the queue. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#looking
    const late = new AbortController()
    const patience = sleep(this.#runtime, CLOSE_MS, { signal: late.signal }).catch(() => {})
    await Promise.race([Promise.all(this.#attempts), patience])
    late.abort()
  }

  async #look(): Promise<void> {
    const { signal } = this.#closing
    const { ledger, kinds, now } = this.#parts
    do {
      this.#looksAgain = false
      const able = [...kinds.values()].filter(kind => this.#roomFor(kind) > 0)
      const due = await listDueKinds(
        ledger.read,
        able.map(({ kind }) => kind),
        now(),
      )
      for (const kind of able)
        if (due.includes(kind.kind) && !signal.aborted) await this.#take(kind)
    } while (this.#looksAgain && !signal.aborted)
  }

  #roomFor({ kind, concurrency }: JobKind): number {
    return concurrency - (this.#counts.get(kind) ?? 0)
  }

  async #take(kind: JobKind): Promise<void> {
    const { ledger, id, now, logger } = this.#parts
    const limit = this.#roomFor(kind)
    const askedMs = this.#elapsedMs()
    const { taken, givenUp } = await claimJobs(ledger, kind, {
      limit,
      worker: id,
      now: now(),
      logger,
    })
    for (const job of givenUp) await this.#end(kind, job, 'dead', LOST)
    for (const job of taken) this.#begin(kind, job, askedMs)
  }

  #begin(kind: JobKind, job: Job, askedMs: number): void {
    const { logger } = this.#parts
    this.#counts.set(kind.kind, (this.#counts.get(kind.kind) ?? 0) + 1)
    const attempt = this.#perform(kind, job, askedMs)
      .catch(error => logger.warn({ err: error, job: job.id }, 'the end of a job was not stored'))
      .finally(() => {
        this.#counts.set(kind.kind, (this.#counts.get(kind.kind) ?? 1) - 1)
        this.#attempts.delete(attempt)
        this.wake()
      })
    this.#attempts.add(attempt)
  }

  async #perform(kind: JobKind, job: Job, askedMs: number): Promise<void> {
    const lost = new AbortController()
    const timeout = timeoutSignal(this.#runtime, kind.timeoutSeconds * 1000)
    const signal = AbortSignal.any([lost.signal, timeout, this.#closing.signal])
    const { leaseSeconds } = kind
    const parts = { ...this.#parts, elapsedMs: this.#elapsedMs }
    const stopRenewing = keepLease(parts, { job, leaseSeconds, askedMs }, () => lost.abort())
    let failure: unknown
    let hasFailed = false
    try {
      await rejectOnAbort(kind.run(kind.payload.parse(job.payload), { job, signal }), signal)
    } catch (error) {
      failure = error
      hasFailed = true
    }
    stopRenewing()
    const outcome = hasFailed
      ? await this.#settleFailure(kind, job, reasonOf({ lost: lost.signal, timeout, failure }))
      : await this.#end(kind, job, 'done')
    this.#parts.onOutcome?.(kind.kind, outcome)
  }

  #settleFailure(kind: JobKind, job: Job, failure: unknown): Promise<JobOutcome> {
    const { now } = this.#parts
    if (this.#closing.signal.aborted)
      return this.#putBack(job, { at: now(), counts: false }, 'early')
    const error = asJobError(failure)
    const { message: reason, retryAfterSeconds } = error
    const retryAt = now() + retryAfterSeconds * 1000
    if (error.early) return this.#putBack(job, { at: retryAt, reason, counts: false }, 'early')
    if (error.final || job.attempts >= job.maxAttempts) return this.#end(kind, job, 'dead', reason)
    const at = Math.max(
      retryAt,
      now() + Math.round(backOffMs(kind.backOff, job.attempts - 1, this.#runtime.random)),
    )
    return this.#putBack(job, { at, reason, counts: true }, 'retried')
  }

  async #end(
    kind: JobKind,
    job: Job,
    state: 'done' | 'dead',
    reason?: string,
  ): Promise<JobOutcome> {
    const { ledger, logger, now, onGiveUp } = this.#parts
    const end = { state, now: now(), ...(reason === undefined ? {} : { reason }) }
    const committed = await ledger.sealed.write(async trx => {
      const ended = await endJob(trx, kind, job, end)
      if (ended !== undefined && state === 'dead' && kind.announced !== false)
        await onGiveUp?.(trx, job, reason ?? '')
      return ended
    })
    if (committed === undefined) return 'lost'
    committed()
    if (state === 'done') return 'done'
    logger.warn({ job: job.id, kind: job.kind, reason }, 'a job failed permanently')
    return 'dead'
  }

  async #putBack(
    job: Job,
    how: { at: number; reason?: string; counts: boolean },
    outcome: JobOutcome,
  ): Promise<JobOutcome> {
    const { ledger, now } = this.#parts
    const isKept = await ledger.sealed.write(trx => putBack(trx, job, { ...how, now: now() }))
    return isKept ? outcome : 'lost'
  }
}

const LOST = 'every worker that began it was lost'
const LEASE_ENDED = new JobError('the lease of the job ended', { early: true })
const TIMED_OUT = new JobError('the job took too long')

/** Failure of an attempt; one that was aborted has whatever its abortion made it throw. */
const reasonOf = (ended: {
  lost: AbortSignal
  timeout: AbortSignal
  failure: unknown
}): unknown => {
  if (ended.lost.aborted) return LEASE_ENDED
  return ended.timeout.aborted ? TIMED_OUT : ended.failure
}

/** Waits for the work until its signal aborts, so that a job that ignores it keeps no slot. */
const rejectOnAbort = async (work: Promise<void>, signal: AbortSignal): Promise<void> => {
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(new JobError('it was stopped'))
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  work.catch(() => {})
  try {
    await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
    aborted.promise.catch(() => {})
  }
}

/**
 * Converts a failure to a `JobError`. An unexpected error is reported by its name alone, because
 * its message may quote anything.
 */
const asJobError = (failure: unknown): JobError =>
  failure instanceof JobError
    ? failure
    : new JobError(`it failed (${(failure as Error)?.name ?? 'unknown'})`, { cause: failure })
