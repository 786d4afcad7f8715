import { ShoalError } from '../../shared/errors.ts'
import { networkOf } from './answer-headers.ts'

const MINUTE_MS = 60_000
/** Addresses that are remembered; the one without a request for longest is forgotten first. */
const CAPACITY = 10_000

interface Bucket {
  tokens: number
  atMs: number
}

/**
 * Bounds the requests without a valid key of one address: a minute's worth at once, then as many
 * as come back steadily. Two numbers for an address, since anybody can be one.
 */
export class AnonymousLimit {
  readonly #perMinute: number
  readonly #nowMs: () => number
  readonly #buckets = new Map<string, Bucket>()

  /** @param nowMs monotonic */
  constructor(perMinute: number, nowMs = () => performance.now()) {
    this.#perMinute = perMinute
    this.#nowMs = nowMs
  }

  /** Throws `rate_limited` when the next request would not be counted. */
  check(ip: string): void {
    this.#requireToken(ip)
  }

  /** Counts one request. Throws `rate_limited`. */
  count(ip: string): void {
    this.#requireToken(ip).tokens--
  }

  #requireToken(ip: string): Bucket {
    const bucket = this.#refill(networkOf(ip))
    if (bucket.tokens < 1) throw this.#createError(bucket)
    return bucket
  }

  #refill(address: string): Bucket {
    const atMs = this.#nowMs()
    const bucket = this.#buckets.get(address) ?? { tokens: this.#perMinute, atMs }
    const earned = ((atMs - bucket.atMs) / MINUTE_MS) * this.#perMinute
    bucket.tokens = Math.min(this.#perMinute, bucket.tokens + earned)
    bucket.atMs = atMs
    this.#buckets.delete(address)
    this.#buckets.set(address, bucket)
    const oldest = this.#buckets.size > CAPACITY ? this.#buckets.keys().next().value : undefined
    if (oldest !== undefined) this.#buckets.delete(oldest)
    return bucket
  }

  #createError({ tokens }: Bucket): ShoalError {
    const message = `an address may send ${this.#perMinute} requests a minute without a valid key`
    const waitMs = ((1 - tokens) * MINUTE_MS) / this.#perMinute
    return new ShoalError('rate_limited', message, {
      retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
    })
  }
}
