import { type BucketState, type Rate, TokenBucket } from '../../shared/token-bucket.ts'
import type { SourceRate } from './source.ts'

/** State of a host's bucket, as it is kept on disk. Times are Unix milliseconds. */
interface HostBucketState extends BucketState {
  /** The host must not be asked before this time. */
  pausedUntil: number
}

/** Requests that one host gets. A request may be promised ahead, so that callers wait in order. */
export class HostBucket {
  readonly #now: () => number
  readonly #tokens: TokenBucket
  #pausedUntil: number

  constructor(rate: SourceRate, now: () => number, state?: HostBucketState) {
    this.#now = now
    this.#tokens = new TokenBucket(convertRate(rate), now, state)
    this.#pausedUntil = state?.pausedUntil ?? 0
  }

  get state(): HostBucketState {
    return { ...this.#tokens.state, pausedUntil: this.#pausedUntil }
  }

  /** True for a bucket that is as good as a new one. */
  get isFull(): boolean {
    return this.#tokens.isFull && this.#pausedUntil <= this.#now()
  }

  /** Changes the rate, which follows the number of coordinators and the key. */
  setRate(rate: SourceRate): void {
    this.#tokens.setRate(convertRate(rate))
  }

  /**
   * Takes a token, or promises the next one.
   * @returns milliseconds until it may be used; more than `maxWaitMs` when none was taken
   */
  take(maxWaitMs: number): number {
    const pauseMs = this.#pausedUntil - this.#now()
    const waitMs = Math.max(Math.ceil(this.#tokens.waitMs(1)), pauseMs)
    if (waitMs <= maxWaitMs) this.#tokens.take(1)
    return waitMs
  }

  /** Gives back a token that was promised and not used. */
  give(): void {
    this.#tokens.give(1)
  }

  pause(until: number): void {
    this.#pausedUntil = Math.max(this.#pausedUntil, until)
  }
}

const convertRate = ({ requests, perSeconds }: SourceRate): Rate => ({
  amount: requests,
  perMs: perSeconds * 1000,
  burst: requests,
})
