export const DAY_MS = 86_400_000

/** A moment as the wire has it, RFC 3339 in UTC: from unix milliseconds. */
export const iso = (at: number): string => new Date(at).toISOString()

/** The same; null for what did not happen. */
export const isoOrNull = (at: number | undefined): string | null =>
  at === undefined ? null : iso(at)
