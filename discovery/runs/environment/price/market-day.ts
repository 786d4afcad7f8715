import type { Zone } from '../../../modules/environment/energy-price.ts'
import type { PriceWindow } from './slot.ts'

const EASTERN: readonly Zone[] = ['BG', 'EE', 'FI', 'GR', 'LT', 'LV', 'RO']
const DAY_MS = 86_400_000

const timeZoneOf = (zone: Zone): string => {
  if (zone === 'PT') return 'Europe/Lisbon'
  return EASTERN.includes(zone) ? 'Europe/Helsinki' : 'Europe/Berlin'
}

/** Day of a time by the clock of a zone: `2026-03-01`. */
export const dayOf = (ms: number, timeZone: string): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(ms)

/** Hour of a time by the clock of a zone. */
export const hourOf = (ms: number, timeZone: string): number =>
  Number(new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit' }).format(ms))

/** Today and tomorrow in a bidding zone; days have 23 to 25 hours. */
export const windowOf = (zone: Zone, now: number): PriceWindow => {
  const timeZone = timeZoneOf(zone)
  const today = midnightBefore(now, timeZone)
  // 26 hours after a midnight it is the next day, however long the day is
  const tomorrow = midnightBefore(today + DAY_MS + 2 * 3_600_000, timeZone)
  const end = midnightBefore(tomorrow + DAY_MS + 2 * 3_600_000, timeZone)
  return { today, tomorrow, end, timeZone }
}

/** The clocks of Europe change at 01:00 UTC, never at midnight (Directive 2000/84/EC). */
const midnightBefore = (ms: number, timeZone: string): number => {
  const date = Date.parse(`${dayOf(ms, timeZone)}T00:00:00Z`)
  const hours = hourOf(date, timeZone)
  return date - (hours > 12 ? hours - 24 : hours) * 3_600_000
}
