import type * as z from 'zod'
import type { BackOff } from '../../../shared/back-off.ts'
import type { SealedTrx } from '../store/store.ts'
import type { Job } from './job.ts'

/** Context of one attempt. */
interface Attempt {
  job: Job
  /** Aborts when the time is up, the lease is lost, the job was cancelled or the process ends. */
  signal: AbortSignal
}

/** Project, team and cost that a job is accounted under. */
interface JobAccount {
  /** Part of the service or project that the work belongs to. */
  project: string
  /** Team that is responsible for the work. */
  team?: string
  /** Expected cost in hundredths of a euro; 0 when absent. */
  costCents?: number
}

/**
 * Kind of work for the queue; one file each. An attempt may run twice, when a process dies in the
 * middle, and must tolerate that.
 */
export interface JobKind<P extends z.ZodType = z.ZodType> {
  /** Name of the kind and of its file, such as `webhook-delivery`. */
  kind: string
  /** Schema of the payload, which is stored as JSON; must accept what older versions wrote. */
  payload: P
  /**
   * Returns the account that the queue board and the cost reports use for a job with this payload.
   */
  account(payload: z.output<P>): JobAccount
  /** Number of attempts before a job is given up. */
  maxAttempts: number
  /**
   * True when an attempt counts although its worker was lost, as for work that could end the process;
   * true when absent.
   */
  countsLosses?: boolean
  backOff: BackOff
  /** Maximum number of simultaneous attempts in one process. */
  concurrency: number
  /** Longest time of one attempt. */
  timeoutSeconds: number
  /** Time without a sign of its worker after which another worker takes the job. */
  leaseSeconds: number
  /** Retention of a job after it has ended. */
  keptDays: number
  /** True when giving up a job publishes an event; true when absent. */
  announced?: boolean
  /** Performs one attempt. Throws a `JobError`; any other error counts as worth another attempt. */
  run(payload: z.output<P>, attempt: Attempt): Promise<void>
  /**
   * Returns the command that ends the work of a job in good order; undefined once it has ended. Until
   * then the job can be neither cancelled nor discarded, because that would leave the work half done.
   */
  findEndCommand?(payload: z.output<P>, trx: SealedTrx): Promise<string | undefined>
  /**
   * Runs in the transaction in which the job is done or given up, and returns a function to call
   * after the commit.
   */
  onEnd?(payload: z.output<P>, job: Job, trx: SealedTrx): Promise<(() => void) | undefined>
}

/** Defines a kind whose payload the compiler checks against its schema. */
export const defineJobKind = <P extends z.ZodType>(kind: JobKind<P>): JobKind =>
  kind as unknown as JobKind

/** Every kind of work by name. */
export type JobKinds = ReadonlyMap<string, JobKind>
