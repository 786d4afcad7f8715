import type { Runtime } from '../../../shared/runtime.ts'

/** Length of a suspension, or difference of the clocks, below which none is counted. */
export const LEAST_SUSPENSION_MS = 100

/**
 * Monotonic milliseconds that also pass while the machine is suspended, when the monotonic clock of
 * Linux stands still (clock_gettime(2), CLOCK_MONOTONIC): what is granted for a time has ended when
 * the machine resumes. A system clock that is set forward counts as a suspension; one that is set
 * back changes nothing.
 */
export const createElapsedMs = ({ now, nowMs }: Pick<Runtime, 'now' | 'nowMs'>): (() => number) => {
  let differenceMs = now() - nowMs()
  let suspendedMs = 0
  return () => {
    const atMs = nowMs()
    const aheadMs = now() - atMs - differenceMs
    if (Math.abs(aheadMs) > LEAST_SUSPENSION_MS) {
      suspendedMs += Math.max(0, aheadMs)
      differenceMs += aheadMs
    }
    return atMs + suspendedMs
  }
}
