/** How the wait before the next attempt grows. */
export interface BackOff {
  firstSeconds: number
  factor: number
  maxSeconds: number
}

/**
 * Milliseconds to wait after attempt n (from 1): between half of and the whole step, so that what
 * failed together does not come back together. `random` is in [0, 1).
 */
export const backOffMs = (
  { firstSeconds, factor, maxSeconds }: BackOff,
  attempt: number,
  random: number,
): number => {
  const stepMs = 1000 * Math.min(maxSeconds, firstSeconds * factor ** (attempt - 1))
  return Math.round(stepMs / 2 + (stepMs / 2) * random)
}
