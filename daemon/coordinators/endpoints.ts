import { MAX_REPLICAS } from '../../shared/wire/replicas.ts'
import type { KnownCoordinators } from './known-coordinators.ts'

/** A URL where coordinators are dialled, one dial at a time. */
export interface Endpoint {
  /** Returns the URL of the next dial. */
  url(): string
  /** True while a coordinator that is behind it is missing. */
  isWanted(): boolean
  readonly signal: AbortSignal
  /** Number of dials since the last change that made success likely. */
  attempt: number
  /** Number of dials in a row that brought no connection. */
  failures: number
  /** Reason why the last dial brought no connection. */
  error: Error | undefined
}

/**
 * Failed dials in a row after which an own address counts as unreachable from this cell, for instance because only
 * the balancer is on its network: the coordinator is then sought at the configured URL too.
 */
export const MAX_FAILURES = 4

interface EndpointsOptions {
  known: KnownCoordinators
  /** Connected coordinators, by id. */
  met: { readonly size: number; has(id: string): boolean }
  signal: AbortSignal
}

/** The endpoints of one plane: the configured URL, and the address of each coordinator that has one. */
export class Endpoints {
  readonly shared: Endpoint
  readonly #options: EndpointsOptions
  readonly #own = new Map<string, { endpoint: Endpoint; address: string; stop: AbortController }>()
  /** Ids on the list so far. */
  #listed = new Set<string>()
  /** Dials at the shared endpoint with no coordinator connected. */
  #turn = 0

  constructor(options: EndpointsOptions) {
    this.#options = options
    const { signal } = options
    const isWanted = () => this.#isSharedWanted()
    this.shared = createEndpoint({ url: () => this.#nextUrl(), isWanted, signal })
  }

  /** Follows the list of live coordinators; returns the endpoints that are new. */
  follow(): { hasGained: boolean; opened: Endpoint[] } {
    const { live } = this.#options.known
    const hasGained = live.some(({ id }) => !this.#listed.has(id))
    this.#listed = new Set(live.map(({ id }) => id))
    if (hasGained) this.resume(0)
    for (const [id, { address, stop }] of this.#own) {
      if (live.some(one => one.id === id && one.address === address)) continue
      this.#own.delete(id)
      stop.abort()
    }
    const opened = live.flatMap(({ id, address }) =>
      address === undefined || this.#own.has(id) ? [] : [this.#open(id, address)],
    )
    return { hasGained, opened }
  }

  /** Continues the search at every endpoint from this attempt. */
  resume(attempt: number): void {
    this.shared.attempt = attempt
    for (const { endpoint } of this.#own.values()) endpoint.attempt = attempt
  }

  close(): void {
    for (const { stop } of this.#own.values()) stop.abort()
  }

  #open(id: string, address: string): Endpoint {
    const stop = new AbortController()
    const signal = AbortSignal.any([this.#options.signal, stop.signal])
    const isWanted = () => this.#hasRoom() && !this.#options.met.has(id)
    const endpoint = createEndpoint({ url: () => address, isWanted, signal })
    this.#own.set(id, { endpoint, address, stop })
    return endpoint
  }

  #nextUrl(): string {
    const { known, met } = this.#options
    if (met.size > 0) this.#turn = 0
    const turn = met.size > 0 ? 0 : this.#turn++
    return known.urls[turn % known.urls.length] ?? known.url
  }

  #isSharedWanted(): boolean {
    const { known, met } = this.#options
    const isMissing = ({ id }: { id: string }) => {
      const { endpoint } = this.#own.get(id) ?? {}
      return !met.has(id) && (endpoint === undefined || endpoint.failures >= MAX_FAILURES)
    }
    return met.size === 0 || (this.#hasRoom() && known.live.some(isMissing))
  }

  #hasRoom(): boolean {
    return this.#options.met.size < MAX_REPLICAS
  }
}

const createEndpoint = (facts: Pick<Endpoint, 'url' | 'isWanted' | 'signal'>): Endpoint => ({
  ...facts,
  attempt: 0,
  failures: 0,
  error: undefined,
})
