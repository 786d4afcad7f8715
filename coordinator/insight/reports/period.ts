import { HOUR_MS } from '../../../shared/time.ts'

const PERIOD_HOURS = 24

/** Span of time in Unix milliseconds: `from` is included, `to` is not. */
export interface Period {
  from: number
  to: number
}

/**
 * The last 24 hours of usage, of which the last one is still running, and the 24 hours before. Both
 * begin at full hours, because usage is summed by hours (UTC).
 */
export const comparePeriods = (now: number): { current: Period; previous: Period } => {
  const to = now - (now % HOUR_MS) + HOUR_MS
  const from = to - PERIOD_HOURS * HOUR_MS
  return { current: { from, to }, previous: { from: from - PERIOD_HOURS * HOUR_MS, to: from } }
}
