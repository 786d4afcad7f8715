import type { SourceRate } from './source.ts'

/** State of a bucket, as it is kept on disk. */
export interface BucketState {
  tokens: number
  /** Time of that count, Unix milliseconds. */
  at: number
  /** The host must not be asked before this time, Unix milliseconds. */
  pausedUntil: number
}

/** Requests that one host gets. A request may be promised ahead, so that callers wait in order. */
export class TokenBucket {
  #state: BucketState

  constructor(rate: SourceRate, now: number, state?: BucketState) {
    this.#state = state ?? { tokens: rate.requests, at: now, pausedUntil: 0 }
  }

  get state(): BucketState {
    return this.#state
  }

  /**
   * Takes a token, or promises the next one.
   * @returns milliseconds until it may be used; more than `maxWaitMs` when none was taken
   */
  take(rate: SourceRate, now: number, maxWaitMs: number): number {
    this.#fill(rate, now)
    const { tokens, pausedUntil } = this.#state
    const msPerToken = (rate.perSeconds * 1000) / rate.requests
    const waitMs = Math.max(Math.ceil((1 - tokens) * msPerToken), pausedUntil - now, 0)
    if (waitMs <= maxWaitMs) this.#state = { ...this.#state, tokens: tokens - 1 }
    return waitMs
  }

  /** Gives back a token that was promised and not used. */
  give(): void {
    this.#state = { ...this.#state, tokens: this.#state.tokens + 1 }
  }

  pause(until: number): void {
    const pausedUntil = Math.max(this.#state.pausedUntil, until)
    this.#state = { ...this.#state, pausedUntil }
  }

  /** True for a bucket that is as good as a new one. */
  isFull(rate: SourceRate, now: number): boolean {
    this.#fill(rate, now)
    return this.#state.tokens >= rate.requests && this.#state.pausedUntil <= now
  }

  /** A clock that was set back must not stop the filling until it has caught up. */
  #fill({ requests, perSeconds }: SourceRate, now: number): void {
    const passedMs = Math.max(0, now - this.#state.at)
    const tokens = this.#state.tokens + (passedMs * requests) / (perSeconds * 1000)
    this.#state = { ...this.#state, tokens: Math.min(requests, tokens), at: now }
  }
}
