const MINUTE_MS = 60_000

/**
 * The starts of the last 60 s. Times are milliseconds of a clock that never goes back. Exact:
 * there is no 60 s in which more than the limit have started.
 */
export class MinuteWindow {
  #starts: number[] = []
  #first = 0

  /** Number of requests that may start now. */
  room(limit: number, ticks: number): number {
    this.#forget(ticks)
    return Math.max(0, limit - this.#count)
  }

  /** Milliseconds until the next may start; 0 when one may start now. */
  waitMs(limit: number, ticks: number): number {
    if (this.room(limit, ticks) > 0) return 0
    const start = this.#starts[this.#starts.length - limit] ?? ticks
    return start + MINUTE_MS - ticks
  }

  add(ticks: number): void {
    this.#starts.push(ticks)
  }

  /** Takes back one start that was added at this time. */
  remove(ticks: number): void {
    const index = this.#starts.lastIndexOf(ticks)
    if (index >= this.#first) this.#starts.splice(index, 1)
  }

  isEmpty(ticks: number): boolean {
    this.#forget(ticks)
    return this.#count === 0
  }

  get #count(): number {
    return this.#starts.length - this.#first
  }

  #forget(ticks: number): void {
    while ((this.#starts[this.#first] ?? Number.POSITIVE_INFINITY) <= ticks - MINUTE_MS)
      this.#first++
    if (this.#first < 32 || this.#first * 2 < this.#starts.length) return
    this.#starts = this.#starts.slice(this.#first)
    this.#first = 0
  }
}
