/** Parameters of the exponential back-off between attempts. */
export interface BackOff {
  firstSeconds: number
  factor: number
  maxSeconds: number
}

/**
 * Returns the milliseconds to wait after attempt n (from 1), between half of and the whole step, so
 * that jobs that failed together are not retried together. `random` is in [0, 1).
 */
export const backOffMs = (
  { firstSeconds, factor, maxSeconds }: BackOff,
  attempt: number,
  random: number,
): number => {
  const stepMs = 1000 * Math.min(maxSeconds, firstSeconds * factor ** (attempt - 1))
  return Math.round(stepMs / 2 + (stepMs / 2) * random)
}
