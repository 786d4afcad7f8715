import { backOffMs, HALF_JITTER } from '../../shared/back-off.ts'
import { type ErrorCode, ShoalError } from '../../shared/errors.ts'
import { reconnectMs, seekMs } from '../backoff.ts'

/** Retry interval for states that need operator action, such as after a revocation. */
const SLOW_MS = 60_000
const needsPerson: ErrorCode[] = ['auth_required', 'forbidden', 'upgrade_required']

/** True for a refusal that only an operator, or another credential, can end. */
export const isLasting = (error: Error): boolean =>
  error instanceof ShoalError && needsPerson.includes(error.code)

/** Pause before the next dial while no coordinator is connected. */
export const pauseAfter = (error: Error, attempt: number, random: () => number): number =>
  stretch(error, reconnectMs(attempt, random), random)

/** Pause before the next dial for a coordinator that is missing beside the connected ones. */
export const pauseBetween = (
  error: Error | undefined,
  attempt: number,
  random: () => number,
): number => {
  const pauseMs = seekMs(attempt, random)
  return error === undefined ? pauseMs : stretch(error, pauseMs, random)
}

const stretch = (error: Error, pauseMs: number, random: () => number): number => {
  if (isLasting(error))
    return backOffMs({ firstMs: SLOW_MS, maxMs: SLOW_MS, jitter: HALF_JITTER }, 0, random)
  if (!(error instanceof ShoalError)) return pauseMs
  return Math.max(Math.min(SLOW_MS, (error.retryAfterSeconds ?? 0) * 1000), pauseMs)
}
