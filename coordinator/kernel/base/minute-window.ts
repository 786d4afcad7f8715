import type { Minute } from './minute.ts'

const MINUTE_MS = 60_000

/** Starts in this process. Exact: there is no 60 s in which more than the limit have started. */
export class MinuteWindow implements Minute {
  #starts: number[] = []
  #first = 0

  room(limit: number, ticks: number): number {
    this.#forget(ticks)
    return Math.max(0, limit - this.#count)
  }

  waitMs(limit: number, ticks: number): number {
    if (this.room(limit, ticks) > 0) return 0
    const start = this.#starts[this.#starts.length - limit] ?? ticks
    return start + MINUTE_MS - ticks
  }

  isReady(): boolean {
    return true
  }

  reserve(): undefined {}

  add(ticks: number): void {
    this.#starts.push(ticks)
  }

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
