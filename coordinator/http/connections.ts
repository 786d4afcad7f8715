import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { throttleById } from '../base/at-most-every.ts'
import type { Budget } from '../budgets/budget.ts'
import type { CloseReason, HttpFigures } from '../metrics/http-figures.ts'
import { networkOf } from './answer-headers.ts'
import { Connection } from './connection.ts'
import type { RequestHandler } from './put-in-front.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/** Least bytes of an answer that a client takes within the send time-out. */
const MIN_TAKEN_BYTES = 16 * 1024
/** Connections beyond the bound. */
const MAX_RESERVE = 16
/** Part of a bound that makes way at once, so that a flood does not cost a search for each. */
const MADE_WAY_PART = 64
const LOG_EVERY_MS = 10_000

export interface ConnectionsParts {
  budget: Budget<'address'>
  proxies: Pick<TrustedProxies, 'has'>
  figures: Pick<HttpFigures, 'countClose'>
  logger: Pick<Logger, 'warn'>
  /** Monotonic milliseconds. */
  nowMs: () => number
  sendTimeoutMs: number
}

interface RequestHandlers {
  handle: RequestHandler
  /** Handles requests of connections beyond the bound. */
  handleReserve: RequestHandler
}

/**
 * The connections of HTTP clients, bounded in total and for one address. At a bound, connections
 * without a request make way: first those that never had a valid key, of the address with most of
 * them, the longest open ones. Where none is idle, a few more are accepted as a reserve.
 */
export class Connections {
  readonly #parts: ConnectionsParts
  readonly #open = new Set<Connection>()
  readonly #reserve = new Set<Connection>()
  readonly #warn: (about: { id: CloseReason; address: string }) => void

  constructor(parts: ConnectionsParts) {
    this.#parts = parts
    this.#warn = throttleById(LOG_EVERY_MS, parts.nowMs, ({ id: reason, address }) =>
      parts.logger.warn(
        { reason, address, open: this.#open.size },
        'a client connection was closed; docs/limits.md explains the reasons',
      ),
    )
  }

  /** Accepts a connection, or closes it when even the reserve is in use. */
  accept(socket: Socket, { handle, handleReserve }: RequestHandlers): Connection | undefined {
    const address = networkOf(socket.remoteAddress)
    const { budget, proxies } = this.#parts
    // a trusted proxy has connections for many clients
    const share = budget.open(proxies.has(socket.remoteAddress) ? {} : { address })
    const onEnd = (ended: Connection) => this.#remove(ended)
    const parts = { address, share, handle, onEnd }
    if (share.take(1) || (this.#makeRoom(address) && share.take(1))) {
      const connection = new Connection(socket, parts)
      this.#open.add(connection)
      return connection
    }
    if (this.#reserve.size >= MAX_RESERVE && !this.#cutIdle([...this.#reserve], 1)) {
      this.#note('over_limit', address)
      socket.destroy()
      return undefined
    }
    const connection = new Connection(socket, { ...parts, handle: handleReserve })
    this.#reserve.add(connection)
    return connection
  }

  cut(connection: Connection, reason: CloseReason): void {
    this.#note(reason, connection.address)
    connection.cut()
  }

  /** Lets clients go that take too little of their answer. */
  sweep(): void {
    const { nowMs, sendTimeoutMs } = this.#parts
    const now = nowMs()
    for (const connections of [this.#open, this.#reserve])
      for (const connection of connections)
        if (connection.stalledMs(now, MIN_TAKEN_BYTES) >= sendTimeoutMs)
          this.cut(connection, 'slow_reader')
  }

  /** Closes so many idle connections, or all there are. */
  makeWay(count: number): void {
    this.#cutIdle([...this.#open], count)
  }

  /** Returns false when no connection that could make way is idle. */
  #makeRoom(address: string): boolean {
    const { budget } = this.#parts
    const { total, per } = budget.limits
    const isAddressFull = budget.usedBy('address', address) >= per.address
    const most = isAddressFull ? per.address : total
    const all = [...this.#open]
    const connections = isAddressFull ? all.filter(one => one.address === address) : all
    return this.#cutIdle(connections, Math.ceil(most / MADE_WAY_PART))
  }

  /** Returns whether it closed at least one. */
  #cutIdle(connections: readonly Connection[], count: number): boolean {
    const { budget } = this.#parts
    const rank = ({ address, isKnown }: Connection): number =>
      budget.usedBy('address', address) + (isKnown ? 0 : budget.limits.total)
    const idle = connections.filter(connection => connection.isIdle())
    const ranked = idle.map(connection => ({ connection, rank: rank(connection) }))
    const chosen = ranked.sort((a, b) => b.rank - a.rank).slice(0, count)
    for (const { connection } of chosen) this.cut(connection, 'made_way')
    return chosen.length > 0
  }

  #remove(connection: Connection): void {
    this.#open.delete(connection)
    this.#reserve.delete(connection)
  }

  #note(reason: CloseReason, address: string): void {
    this.#parts.figures.countClose(reason)
    this.#warn({ id: reason, address })
  }
}
