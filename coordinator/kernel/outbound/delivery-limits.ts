import { HALF_JITTER } from '../../../shared/back-off.ts'
import type { JobKind } from '../queue/job-kind.ts'

type Limits = Pick<
  JobKind,
  | 'maxAttempts'
  | 'countsLosses'
  | 'backOff'
  | 'concurrency'
  | 'timeoutSeconds'
  | 'leaseSeconds'
  | 'keptDays'
>

/** Limits of every job that sends to an address given by a user. */
export const deliveryLimits = (config: {
  max_attempts: number
  retry_first_seconds: number
}): Limits => ({
  maxAttempts: config.max_attempts,
  // the target has not answered: several kills in a row must not cost it the message
  countsLosses: false,
  backOff: {
    firstMs: config.retry_first_seconds * 1000,
    factor: 4,
    maxMs: 3_600_000,
    jitter: HALF_JITTER,
  },
  concurrency: 32,
  timeoutSeconds: 60,
  leaseSeconds: 10,
  keptDays: 7,
})
