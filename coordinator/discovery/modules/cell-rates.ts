import { createBoundedCache } from '../../kernel/base/bounded-cache.ts'

interface Minute {
  start: number
  count: number
}

const MINUTE_MS = 60_000
const MAX_HOLDERS = 20_000

/** Bounds what one cell may report per minute to this coordinator: sightings, or messages. */
export class CellRates {
  readonly #perMinute: number
  readonly #minutes = createBoundedCache<string, Minute>(MAX_HOLDERS)

  constructor(perMinute: number) {
    this.#perMinute = perMinute
  }

  /** False when the minute is used up; a first batch that is larger than it is taken. */
  take(holder: string, count: number, now: number): boolean {
    const known = this.#minutes.get(holder)
    // a clock that was set back must not make the minute longer
    const isSame = known !== undefined && now >= known.start && now < known.start + MINUTE_MS
    const minute = isSame ? known : { start: now, count: 0 }
    if (minute.count > 0 && minute.count + count > this.#perMinute) return false
    this.#minutes.set(holder, { ...minute, count: minute.count + count })
    return true
  }
}
