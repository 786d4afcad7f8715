const ZONE = /(z|[+-]\d{2}:?\d{2})$/i

/** RFC 3339 form of a time that may lack its zone, which then is UTC; null for anything else. */
export const readUtcTime = (text: string | null | undefined): string | null => {
  if (text === null || text === undefined) return null
  const trimmed = text.trim().replace(' ', 'T')
  const dated = trimmed.includes('T') ? trimmed : `${trimmed}T00:00:00`
  const at = Date.parse(ZONE.test(dated) ? dated : `${dated}Z`)
  return Number.isNaN(at) ? null : new Date(at).toISOString()
}

const DAY_MS = 86_400_000

/** Whole days from now until a time, rounded down; negative once it has passed. */
export const countDaysUntil = (time: string, nowMs: number): number =>
  Math.floor((Date.parse(time) - nowMs) / DAY_MS)
