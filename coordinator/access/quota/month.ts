interface Month {
  /** `2026-11`, UTC. Sorts as text. */
  name: string
  /** Unix milliseconds of the first instant after it. */
  endsAt: number
}

export const monthAt = (now: number): Month => parseMonth(new Date(now).toISOString().slice(0, 7))

const parseMonth = (name: string): Month => {
  const [year = 0, month = 0] = name.split('-').map(Number)
  return { name, endsAt: Date.UTC(year, month) }
}

/** Name of the month before. */
export const monthBefore = ({ name }: Month): string => {
  const [year = 0, month = 0] = name.split('-').map(Number)
  return monthAt(Date.UTC(year, month - 2)).name
}

/** The current month by a clock that may be set back: a month that was left is not entered again. */
export class Calendar {
  #month: Month = monthAt(0)

  get month(): Month {
    return this.#month
  }

  /**
   * Enters the month of `now`, Unix milliseconds, if it is later, and returns the current month.
   * Call it before reading `month`.
   */
  advance(now: number): Month {
    if (now >= this.#month.endsAt) this.#month = monthAt(now)
    return this.#month
  }

  /** Another process, or this one before a restart, has been in this month. */
  advanceTo(name: string): Month {
    if (name > this.#month.name) this.#month = parseMonth(name)
    return this.#month
  }
}
