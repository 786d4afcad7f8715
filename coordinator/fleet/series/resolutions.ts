export interface Resolution {
  seconds: number
  keepSeconds: number
  /** Span of one row: its buckets are read and written together. */
  rowSeconds: number
  /** Time that values stay in memory before they are written, and that a crash may cost. */
  holdSeconds: number
}

const HOUR = 3600
const DAY = 24 * HOUR

export const RESOLUTIONS = {
  '10s': { seconds: 10, keepSeconds: HOUR, rowSeconds: 60, holdSeconds: 60 },
  '1m': { seconds: 60, keepSeconds: DAY, rowSeconds: 600, holdSeconds: 300 },
  '1h': { seconds: HOUR, keepSeconds: 366 * DAY, rowSeconds: 6 * HOUR, holdSeconds: 1800 },
} as const satisfies Record<string, Resolution>

export type ResolutionName = keyof typeof RESOLUTIONS

/** Start of the span that contains a time, Unix milliseconds. */
export const floor = (at: number, seconds: number): number => at - (at % (seconds * 1000))
