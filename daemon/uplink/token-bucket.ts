/** Rate limiter: a burst of at most `perSecond`, refilled at that rate. */
export class TokenBucket {
  readonly #perSecond: number
  readonly #now: () => number
  /** The time at which everything taken so far will have been allowed. */
  #freeAt: number

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(perSecond: number, now: () => number = () => performance.now()) {
    this.#perSecond = perSecond
    this.#now = now
    this.#freeAt = now() - 1000
  }

  /** Takes an amount and returns the milliseconds to wait before using it. */
  take(amount: number): number {
    const from = Math.max(this.#freeAt, this.#now() - 1000)
    this.#freeAt = from + (amount / this.#perSecond) * 1000
    return Math.max(0, this.#freeAt - this.#now())
  }
}
