import { DAY_MS } from '../../../shared/time.ts'
/** First day of the month of a calendar day: `2026-11-20` is in `2026-11-01`. */
export const monthOf = (day: string): string => `${day.slice(0, 7)}-01`

/** Adds months to a day; a month that is too short for the day gives its last day. */
export const addMonths = (day: string, count: number): string => {
  const at = new Date(`${monthOf(day)}T00:00:00Z`)
  at.setUTCMonth(at.getUTCMonth() + count + 1, 0)
  const lastDay = at.getUTCDate()
  at.setUTCDate(Math.min(Number(day.slice(8)), lastDay))
  return at.toISOString().slice(0, 10)
}

/** Calendar day of a time in Unix milliseconds, UTC. */
export const dayAt = (at: number): string => new Date(at).toISOString().slice(0, 10)

/** Months from `first` to `last`, both included. */
export const listMonths = (first: string, last: string): string[] => {
  const months: string[] = []
  for (let month = first; month <= last; month = addMonths(month, 1)) months.push(month)
  return months
}

/** Adds days to a calendar day; a negative count subtracts them. */
export const addDays = (day: string, count: number): string =>
  dayAt(Date.parse(day) + count * DAY_MS)

/** Days from one calendar day to another; negative when the second is the earlier one. */
export const daysBetween = (from: string, to: string): number =>
  Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS)
