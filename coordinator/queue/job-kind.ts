import type * as z from 'zod'
import type { SealedTrx } from '../store/store.ts'
import type { BackOff } from './back-off.ts'
import type { Job } from './job.ts'

/** What an attempt may know of itself. */
export interface Attempt {
  job: Job
  /** Aborts when the time is up, the lease is lost, the job was cancelled or the process ends. */
  signal: AbortSignal
}

/** What a job is booked under. */
export interface JobAccount {
  /** Part of the service or project that the work belongs to. */
  project: string
  /** Team that answers for it. */
  team?: string
  /** Expected cost in hundredths of a euro; 0 when absent. */
  costCents?: number
}

/**
 * A kind of work for the queue: one file each. An attempt may run twice, when a process dies in the
 * middle: it must bear that.
 */
export interface JobKind<P extends z.ZodType = z.ZodType> {
  /** `webhook-delivery`: the name of its file. */
  kind: string
  /** Kept as JSON; what an older version wrote must still pass. */
  payload: P
  /** What the queue board and the cost reports count a job of this payload under. */
  account(payload: z.output<P>): JobAccount
  /** Attempts before it is given up. */
  maxAttempts: number
  backOff: BackOff
  /** Attempts at once in one process. */
  concurrency: number
  /** Longest time of one attempt. */
  timeoutSeconds: number
  /** So long after its worker was last heard of, another one takes the job. */
  leaseSeconds: number
  /** How long it is kept after it ended. */
  keptDays: number
  /** False: that it was given up is no event of its own. */
  announced?: boolean
  /** Throws a `JobError`, or anything else, which counts as worth another attempt. */
  run(payload: z.output<P>, attempt: Attempt): Promise<void>
  /**
   * Runs in the transaction in which the job is done or given up, and returns what is to be called
   * after the commit.
   */
  ended?(payload: z.output<P>, job: Job, trx: SealedTrx): Promise<(() => void) | undefined>
}

/** A kind with its payload checked against its schema by the compiler. */
export const defineJobKind = <P extends z.ZodType>(kind: JobKind<P>): JobKind =>
  kind as unknown as JobKind

/** Every kind of work by name. */
export type JobKinds = ReadonlyMap<string, JobKind>
