export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

/** Start of the UTC hour of a time, both in Unix milliseconds. */
export const startOfHour = (at: number): number => at - (at % HOUR_MS)

/** Formats unix milliseconds as the wire has them, RFC 3339 in UTC. */
export const iso = (at: number): string => new Date(at).toISOString()

/** Formats unix milliseconds; null for an event that has not happened. */
export const isoOrNull = (at: number | undefined): string | null =>
  at === undefined ? null : iso(at)
