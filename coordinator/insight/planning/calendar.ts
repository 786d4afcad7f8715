import { ShoalError } from '../../../shared/errors.ts'
import { DAY_MS } from '../../../shared/time.ts'

export const WEEKDAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
type Weekday = (typeof WEEKDAYS)[number]

export interface CalendarFacts {
  /** Day of the week on which people work; at least one. */
  workingDays: readonly Weekday[]
  /** Dates without work, `2027-12-24`. */
  holidays: readonly string[]
}

const LAST_DAY = Date.parse('9999-12-31') / DAY_MS

/**
 * Working days as dates. Day 0 is the first working day on or after the start date. All dates are
 * whole days without a time zone.
 */
export class WorkCalendar {
  /** Days since 1970-01-01 of one week of working days, from the start on. */
  readonly #week: readonly number[]
  /**
   * Number of working days before each holiday on a day of work, ascending. Other holidays do not
   * change the number of a day.
   */
  readonly #workBefore: readonly number[]

  constructor(startDate: string, { workingDays, holidays }: CalendarFacts) {
    const start = Date.parse(startDate) / DAY_MS
    this.#week = Array.from({ length: 7 }, (_, at) => start + at).filter(day =>
      workingDays.includes(weekdayOf(day)),
    )
    this.#workBefore = [...new Set(holidays)]
      .map(date => Date.parse(date) / DAY_MS)
      .filter(day => day >= start && workingDays.includes(weekdayOf(day)))
      .sort((a, b) => a - b)
      .map((day, before) => this.#placeInWeeks(day) - before)
  }

  /** Date of the working day `index`, from 0. Throws `invalid_request` after the year 9999. */
  date(index: number): string {
    const place = index + countAtMost(this.#workBefore, index)
    const weeks = Math.floor(place / this.#week.length)
    const day = (this.#week[place % this.#week.length] as number) + 7 * weeks
    if (day <= LAST_DAY) return new Date(day * DAY_MS).toISOString().slice(0, 10)
    throw new ShoalError('invalid_request', 'start_date: the project ends after the year 9999', {
      param: 'start_date',
    })
  }

  /** Date of the day that begins `days` after the start of the project. */
  startDate(days: number): string {
    return this.date(Math.floor(days + ROUNDING))
  }

  /** Date of the last day of work of what ends `days` after the start of the project. */
  finishDate(days: number): string {
    return this.date(Math.max(0, Math.ceil(days - ROUNDING) - 1))
  }

  /** Number of days of the week pattern from the start to before a day of work. */
  #placeInWeeks(day: number): number {
    const weeks = Math.floor((day - (this.#week[0] as number)) / 7)
    const within = this.#week.indexOf(day - 7 * weeks)
    return weeks * this.#week.length + within
  }
}

/** Sums of decimal fractions of days differ from whole days by less. */
const ROUNDING = 1e-6

/** 1970-01-01 was a Thursday. */
const weekdayOf = (day: number): Weekday => WEEKDAYS[(((day + 3) % 7) + 7) % 7] as Weekday

/** Number of the ascending values that are at most `most`. */
const countAtMost = (values: readonly number[], most: number): number => {
  let [low, high] = [0, values.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((values[middle] as number) <= most) low = middle + 1
    else high = middle
  }
  return low
}
