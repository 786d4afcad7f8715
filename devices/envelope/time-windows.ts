import type { TimeWindow } from '../../shared/wire/safety-envelope.ts'

/** Days in the order of `Date.getUTCDay`. */
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const
const DAY_MINUTES = 24 * 60

/** True when a moment, in unix milliseconds, is inside a window. One may end after midnight. */
export const isWindowOpen = ({ days, from, to }: TimeWindow, now: number): boolean => {
  const date = new Date(now)
  const minute = date.getUTCHours() * 60 + date.getUTCMinutes()
  const [begins, ends] = [toMinutes(from), toMinutes(to)]
  const isOn = (day: number): boolean => days.includes(DAYS[(day + 7) % 7] ?? 'sun')
  const today = date.getUTCDay()
  if (begins < ends) return isOn(today) && minute >= begins && minute < ends
  return (isOn(today) && minute >= begins) || (isOn(today - 1) && minute < ends % DAY_MINUTES)
}

const toMinutes = (text: string): number => {
  const [hours, minutes] = text.split(':').map(Number)
  return (hours ?? 0) * 60 + (minutes ?? 0)
}
