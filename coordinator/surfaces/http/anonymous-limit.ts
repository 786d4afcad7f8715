import { ShoalError } from '../../../shared/errors.ts'
import { systemRuntime } from '../../../shared/runtime.ts'
import { networkOf } from './trusted-proxies.ts'

const MINUTE_MS = 60_000
/** Networks that are remembered. */
const CAPACITY = 10_000
/** Number of the longest idle networks among which the one with most requests left is forgotten. */
const CANDIDATES = 16
/** Limit of an IPv6 /48 as a multiple of that of a /64: its owner may use any of the 65,536 in it. */
const SITE_FACTOR = 16

interface Bucket {
  /** Requests that may be sent at once. */
  limit: number
  tokens: number
  atMs: number
}

/**
 * Bounds the requests without a valid key of one address: a minute's worth at once, then as many
 * as come back steadily. A /48 of IPv6 has a larger bound of its own, since its owner could
 * otherwise send without a bound. A few numbers for each, since anybody can be one.
 */
export class AnonymousLimit {
  readonly #perMinute: number
  readonly #nowMs: () => number
  readonly #buckets = new Map<string, Bucket>()

  /** @param nowMs monotonic */
  constructor(perMinute: number, nowMs = systemRuntime.nowMs) {
    this.#perMinute = perMinute
    this.#nowMs = nowMs
  }

  /** Throws `rate_limited` when the next request would not be counted. */
  check(ip: string): void {
    this.#requireTokens(ip)
  }

  /** Counts one request. Throws `rate_limited`. */
  count(ip: string): void {
    for (const bucket of this.#requireTokens(ip)) bucket.tokens--
  }

  /** Returns the buckets of the site and the network; a full site adds no further networks. */
  #requireTokens(ip: string): Bucket[] {
    const network = networkOf(ip)
    const buckets: Bucket[] = []
    for (const [id, limit] of [
      [siteOf(network), this.#perMinute * SITE_FACTOR],
      [network, this.#perMinute],
    ] as const) {
      if (id === undefined) continue
      const bucket = this.#touch(id, limit)
      if (bucket.tokens < 1) throw this.#createError(bucket)
      buckets.push(bucket)
    }
    return buckets
  }

  #touch(id: string, limit: number): Bucket {
    const bucket = this.#buckets.get(id) ?? { limit, tokens: limit, atMs: this.#nowMs() }
    this.#refill(bucket)
    this.#buckets.delete(id)
    this.#buckets.set(id, bucket)
    if (this.#buckets.size > CAPACITY) this.#forgetOne()
    return bucket
  }

  #refill(bucket: Bucket): void {
    const atMs = this.#nowMs()
    const earned = ((atMs - bucket.atMs) / MINUTE_MS) * bucket.limit
    bucket.tokens = Math.min(bucket.limit, bucket.tokens + earned)
    bucket.atMs = atMs
  }

  /** A network at its bound would otherwise be forgotten after requests of enough others. */
  #forgetOne(): void {
    let fullest: [string, Bucket] | undefined
    let left = CANDIDATES
    for (const entry of this.#buckets) {
      if (left-- === 0) break
      this.#refill(entry[1])
      if (fullest === undefined || entry[1].tokens > fullest[1].tokens) fullest = entry
    }
    if (fullest !== undefined) this.#buckets.delete(fullest[0])
  }

  #createError({ tokens, limit }: Bucket): ShoalError {
    const message = `an address may send ${this.#perMinute} requests a minute without a valid key`
    const waitMs = ((1 - tokens) * MINUTE_MS) / limit
    return new ShoalError('rate_limited', message, {
      retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
    })
  }
}

/** The /48 of a /64 of IPv6; an IPv4 address has no site. */
const siteOf = (network: string): string | undefined =>
  network.includes(':') ? `${network.slice(0, network.lastIndexOf(':'))}::/48` : undefined
