/** Refill rate, `amount` in `perMs` milliseconds, and the capacity `burst`. */
export interface Rate {
  amount: number
  perMs: number
  burst: number
}

export interface BucketState {
  /** Tokens left; negative when tokens were taken ahead of time. */
  tokens: number
  /** Time of that count, milliseconds. */
  at: number
}

/** Rate limiter: tokens refill at a rate up to the burst; they may be taken ahead of time, as a debt. */
export class TokenBucket {
  readonly #now: () => number
  #rate: Rate
  #state: BucketState

  /** `now`: milliseconds. Refilling goes on at once from a clock that was set back. */
  constructor(rate: Rate, now: () => number, state?: BucketState) {
    this.#rate = rate
    this.#now = now
    this.#state = state ?? { tokens: rate.burst, at: now() }
  }

  /** Changes the rate; what was refilled so far stays. */
  setRate(rate: Rate): void {
    this.#refill()
    this.#rate = rate
  }

  get state(): BucketState {
    return this.#refill()
  }

  get isFull(): boolean {
    return this.#refill().tokens >= this.#rate.burst
  }

  /** Milliseconds until the amount is available. */
  waitMs(amount: number): number {
    return this.#toMs(amount - this.#refill().tokens)
  }

  /** Takes an amount and returns the milliseconds to wait before using it. */
  take(amount: number): number {
    const { tokens, at } = this.#refill()
    this.#state = { tokens: tokens - amount, at }
    return this.#toMs(amount - tokens)
  }

  /** Gives back tokens that were taken and not used. */
  give(amount: number): void {
    const { tokens, at } = this.#state
    this.#state = { tokens: tokens + amount, at }
  }

  #toMs(missing: number): number {
    return missing <= 0 ? 0 : (missing * this.#rate.perMs) / this.#rate.amount
  }

  #refill(): BucketState {
    const { amount, perMs, burst } = this.#rate
    const at = this.#now()
    const passedMs = Math.max(0, at - this.#state.at)
    const tokens = Math.min(burst, this.#state.tokens + (passedMs * amount) / perMs)
    this.#state = { tokens, at }
    return this.#state
  }
}
