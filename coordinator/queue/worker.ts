import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Ledger } from '../store/store.ts'
import { backOffMs } from './back-off.ts'
import type { Job } from './job.ts'
import { JobError } from './job-error.ts'
import type { JobKind, JobKinds } from './job-kind.ts'
import { isDue } from './job-query.ts'
import { claimJobs, endJob, forgetEnded, putBack, renewLease } from './job-store.ts'

export type Outcome = 'done' | 'retried' | 'dead' | 'lost' | 'early'

export interface WorkerParts {
  ledger: Ledger
  kinds: JobKinds
  /** Unique among all processes that share the store. */
  id: string
  logger: Pick<Logger, 'warn' | 'info'>
  /** Unix time, milliseconds. */
  now: () => number
  random?: () => number
  /** How often to look for what became due, or what others added. */
  pollMs?: number
  /** Told how each attempt ended. */
  ended?: (kind: string, outcome: Outcome) => void
  /** Told of a job that was given up, unless its kind does not want that. */
  gaveUp?: (job: Job, reason: string) => void
}

export interface Worker {
  /** Looks for work now, or as soon as it is through with looking. */
  wake(): void
  /** Attempts under way, by kind. */
  running(): ReadonlyMap<string, number>
  /** Takes nothing new; what runs is told to stop and goes back into the line. */
  close(): Promise<void>
}

const POLL_MS = 1000
const FORGET_EVERY_MS = 3600 * 1000
/** What does not stop when it is told to is left behind: its lease will run out. */
const CLOSE_MS = 5000

/** Does the jobs of every kind, each kind with room of its own, so that a slow one stops no other. */
export const startWorker = (parts: WorkerParts): Worker => {
  const { ledger, kinds, id, logger, now, random = Math.random, pollMs = POLL_MS } = parts
  const closing = new AbortController()
  const counts = new Map<string, number>()
  const attempts = new Set<Promise<void>>()
  let looking: Promise<void> | undefined
  let again = false
  let forgotAt = Number.NEGATIVE_INFINITY

  const free = ({ kind, concurrency }: JobKind): number => concurrency - (counts.get(kind) ?? 0)

  const take = async (kind: JobKind): Promise<void> => {
    const limit = free(kind)
    if (limit <= 0 || !(await isDue(ledger.read, kind.kind, now()))) return
    const { taken, givenUp } = await ledger.free.write(trx =>
      claimJobs(trx, kind, { limit, worker: id, now: now() }),
    )
    for (const job of givenUp) await end(kind, job, 'dead', LOST)
    for (const job of taken) begin(kind, job)
  }

  const look = async (): Promise<void> => {
    do {
      again = false
      for (const kind of kinds.values()) if (!closing.signal.aborted) await take(kind)
    } while (again && !closing.signal.aborted)
  }

  const wake = (): void => {
    again = true
    if (closing.signal.aborted) return
    looking ??= look()
      .catch(error => logger.warn({ err: error }, 'the queue was not looked through'))
      .finally(() => {
        looking = undefined
        if (again) wake()
      })
  }

  const begin = (kind: JobKind, job: Job): void => {
    counts.set(kind.kind, (counts.get(kind.kind) ?? 0) + 1)
    const attempt = perform(kind, job)
      .catch(error => logger.warn({ err: error, job: job.id }, 'the end of a job was not kept'))
      .finally(() => {
        counts.set(kind.kind, (counts.get(kind.kind) ?? 1) - 1)
        attempts.delete(attempt)
        wake()
      })
    attempts.add(attempt)
  }

  const perform = async (kind: JobKind, job: Job): Promise<void> => {
    const stop = new AbortController()
    const timeout = AbortSignal.timeout(kind.timeoutSeconds * 1000)
    const signal = AbortSignal.any([stop.signal, timeout, closing.signal])
    const renewing = keepLease(kind, job, () => stop.abort())
    let failure: unknown
    let failed = false
    try {
      await untilAborted(kind.run(kind.payload.parse(job.payload), { job, signal }), signal)
    } catch (error) {
      failure = error
      failed = true
    }
    renewing.stop()
    const outcome = await settle(kind, job, failed, timeout.aborted ? TIMED_OUT : failure)
    parts.ended?.(kind.kind, outcome)
  }

  const settle = (kind: JobKind, job: Job, failed: boolean, failure: unknown): Promise<Outcome> => {
    if (!failed) return end(kind, job, 'done')
    if (closing.signal.aborted) return back(job, { at: now(), counts: false }, 'early')
    const error = asJobError(failure)
    const { message: reason, retryAfterSeconds } = error
    if (error.early)
      return back(job, { at: now() + retryAfterSeconds * 1000, reason, counts: false }, 'early')
    if (error.final || job.attempts >= job.maxAttempts) return end(kind, job, 'dead', reason)
    const waitMs = backOffMs(kind.backOff, job.attempts, random())
    const at = now() + Math.max(waitMs, retryAfterSeconds * 1000)
    return back(job, { at, reason, counts: true }, 'retried')
  }

  const end = async (
    kind: JobKind,
    job: Job,
    state: 'done' | 'dead',
    reason?: string,
  ): Promise<Outcome> => {
    const said = { state, now: now(), ...(reason === undefined ? {} : { reason }) }
    const committed = await ledger.sealed.write(trx => endJob(trx, kind, job, said))
    if (committed === undefined) return 'lost'
    committed()
    if (state === 'done') return 'done'
    logger.warn({ job: job.id, kind: job.kind, reason }, 'a job was given up')
    if (kind.announced !== false) parts.gaveUp?.(job, reason ?? '')
    return 'dead'
  }

  const back = async (
    job: Job,
    how: { at: number; reason?: string; counts: boolean },
    outcome: Outcome,
  ): Promise<Outcome> => {
    const kept = await ledger.sealed.write(trx => putBack(trx, job, { ...how, now: now() }))
    return kept ? outcome : 'lost'
  }

  const keepLease = (kind: JobKind, job: Job, lost: () => void): { stop: () => void } => {
    const renew = async (): Promise<void> => {
      const until = now() + kind.leaseSeconds * 1000
      if (!(await ledger.free.write(trx => renewLease(trx, job, until)))) lost()
    }
    const timer = setInterval(
      () => {
        renew().catch(error => logger.warn({ err: error, job: job.id }, 'a lease was not renewed'))
      },
      (kind.leaseSeconds * 1000) / 3,
    )
    return { stop: () => clearInterval(timer) }
  }

  const forget = (): void => {
    if (now() - forgotAt < FORGET_EVERY_MS) return
    forgotAt = now()
    ledger.free
      .write(async trx => {
        for (const { kind, keptDays } of kinds.values())
          await forgetEnded(trx, kind, now() - keptDays * 86_400_000)
      })
      .catch(error => logger.warn({ err: error }, 'old jobs were not removed'))
  }

  const timer = setInterval(() => {
    forget()
    wake()
  }, pollMs)
  wake()

  return {
    wake,
    running: () => counts,
    close: async () => {
      clearInterval(timer)
      closing.abort()
      await looking
      const late = new AbortController()
      const patience = sleep(CLOSE_MS, undefined, { signal: late.signal }).catch(() => {})
      await Promise.race([Promise.all(attempts), patience])
      late.abort()
    },
  }
}

const LOST = 'every worker that began it was lost'
const TIMED_OUT = new JobError('it took too long')

/** Waits for the work no longer than its signal: one that ignores it keeps no slot. */
const untilAborted = async (work: Promise<void>, signal: AbortSignal): Promise<void> => {
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

/** What a kind did not foresee is told by its name alone: its message may quote anything. */
const asJobError = (failure: unknown): JobError =>
  failure instanceof JobError
    ? failure
    : new JobError(`it failed (${(failure as Error)?.name ?? 'unknown'})`, { cause: failure })
