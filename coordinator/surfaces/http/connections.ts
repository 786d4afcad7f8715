import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { throttleById } from '../../kernel/base/at-most-every.ts'
import type { Budget } from '../../kernel/budgets/budget.ts'
import type { CloseReason, HttpMetrics } from '../metrics/http-metrics.ts'
import type { Connection } from './connection.ts'
import { ConnectionGroup } from './connection-group.ts'
import type { RequestHandler } from './put-in-front.ts'
import type { TrustedProxies } from './trusted-proxies.ts'
import { networkOf } from './trusted-proxies.ts'

/** Least bytes of an answer that a client takes within the send time-out. */
const MIN_TAKEN_BYTES = 16 * 1024
const LOG_EVERY_MS = 10_000

interface ConnectionsParts {
  budget: Budget<'address'>
  /** Places for a few connections beyond the bounds of `budget`. */
  reserve: Budget<'address'>
  proxies: Pick<TrustedProxies, 'has'>
  metrics: Pick<HttpMetrics, 'countClose'>
  logger: Pick<Logger, 'warn'>
  /** Monotonic milliseconds. */
  nowMs: () => number
  sendTimeoutMs: number
  /** Time in which an honest client or cell has sent its first request. */
  headersTimeoutMs: number
}

interface RequestHandlers {
  handle: RequestHandler
  /** Handles requests of connections beyond the bound. */
  handleReserve: RequestHandler
}

/**
 * The connections of HTTP clients, bounded in total and for one address. At a bound, connections
 * without a request make way: first those that had time for a request with a valid key and sent
 * none; then those of the address with most of them, the newest ones without a key first, so that
 * handshakes under way can end, and then the longest idle ones. Where none is idle, a few more are
 * accepted as a reserve.
 */
export class Connections {
  readonly #parts: ConnectionsParts
  readonly #clients: ConnectionGroup
  readonly #reserve: ConnectionGroup
  readonly #warn: (about: { id: CloseReason; address: string }) => void

  constructor(parts: ConnectionsParts) {
    this.#parts = parts
    const onMadeWay = (connection: Connection) => this.cut(connection, 'made_way')
    this.#clients = new ConnectionGroup({ ...parts, onMadeWay })
    this.#reserve = new ConnectionGroup({ ...parts, budget: parts.reserve, onMadeWay })
    this.#warn = throttleById(LOG_EVERY_MS, parts.nowMs, ({ id: reason, address }) =>
      parts.logger.warn(
        { reason, address, open: this.#clients.open.size },
        'a client connection was closed; docs/limits.md explains the reasons',
      ),
    )
  }

  /** Accepts a connection, or closes it when even the reserve is in use. */
  accept(socket: Socket, { handle, handleReserve }: RequestHandlers): Connection | undefined {
    const address = networkOf(socket.remoteAddress)
    // a trusted proxy has connections for many clients
    const holders = this.#parts.proxies.has(socket.remoteAddress) ? {} : { address }
    const connection =
      this.#clients.admit(socket, { address, holders, handle }) ??
      this.#reserve.admit(socket, { address, holders, handle: handleReserve })
    if (connection !== undefined) return connection
    this.#note('over_limit', address)
    socket.destroy()
    return undefined
  }

  cut(connection: Connection, reason: CloseReason): void {
    this.#note(reason, connection.address)
    connection.cut()
  }

  /** Lets clients go that take too little of their answer. */
  sweep(): void {
    const { nowMs, sendTimeoutMs } = this.#parts
    const now = nowMs()
    for (const { open } of [this.#clients, this.#reserve])
      for (const connection of open)
        if (connection.measureStallMs(now, MIN_TAKEN_BYTES) >= sendTimeoutMs)
          this.cut(connection, 'slow_reader')
  }

  /** Closes so many idle connections, or all there are. */
  makeWay(count: number): void {
    this.#clients.makeWay(count)
  }

  #note(reason: CloseReason, address: string): void {
    this.#parts.metrics.countClose(reason)
    this.#warn({ id: reason, address })
  }
}
