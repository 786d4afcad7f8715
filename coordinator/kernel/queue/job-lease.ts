import type { Logger } from 'pino'
import { type Runtime, stopTimer } from '../../../shared/runtime.ts'
import { Tenure } from '../leases/tenure.ts'
import type { Ledger } from '../store/store.ts'
import type { Job } from './job.ts'
import { renewLease } from './job-claims.ts'

interface JobLeaseParts {
  ledger: Pick<Ledger, 'free'>
  logger: Pick<Logger, 'warn'>
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'setInterval'>
  elapsedMs: () => number
}

interface HeldJob {
  job: Job
  leaseSeconds: number
  /** Moment before the claim. */
  askedMs: number
}

/** Renewals per lease: one may fail or be slow without the loss of the job. */
const RENEWALS = 3

/**
 * Renews the lease of an attempt until the returned function is called. Calls `onLost`, perhaps
 * repeatedly, when another worker has the job, and when the lease has ended and the store did not
 * renew it: any worker may have the job then.
 */
export const keepLease = (
  { ledger, logger, now, runtime, elapsedMs }: JobLeaseParts,
  { job, leaseSeconds, askedMs }: HeldJob,
  onLost: () => void,
): (() => void) => {
  const leaseMs = leaseSeconds * 1000
  const tenure = new Tenure(elapsedMs)
  tenure.extend(askedMs, leaseMs)
  let isRenewing = false
  const renew = async (): Promise<void> => {
    const before = tenure.ask()
    const until = now() + leaseMs
    const isHeld = await ledger.free.write(trx => renewLease(trx, job, until), { isUrgent: true })
    if (isHeld) tenure.extend(before, leaseMs)
    else onLost()
  }
  const beat = async (): Promise<void> => {
    if (isRenewing) {
      if (tenure.isOver) onLost()
      return
    }
    isRenewing = true
    await renew().catch(error => {
      logger.warn({ err: error, job: job.id }, 'a lease was not renewed')
      if (tenure.isOver) onLost()
    })
    isRenewing = false
  }
  const timer = runtime.setInterval(() => void beat(), leaseMs / RENEWALS)
  return () => stopTimer(timer)
}
