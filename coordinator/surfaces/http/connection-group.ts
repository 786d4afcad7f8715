import type { Socket } from 'node:net'
import type { Budget, Holders } from '../../kernel/budgets/budget.ts'
import { Connection } from './connection.ts'
import type { RequestHandler } from './put-in-front.ts'

/** Part of a bound that makes way at once, so that a flood does not cost a search for each. */
const MADE_WAY_PART = 64
/** Interval between searches where the last one found no idle connection, for the same reason. */
const SEARCH_EVERY_MS = 100

interface GroupParts {
  budget: Budget<'address'>
  /** Monotonic milliseconds. */
  nowMs: () => number
  /** Time in which an honest client or cell has sent its first request. */
  headersTimeoutMs: number
  /** Closes an idle connection in favour of a new one. */
  onMadeWay: (connection: Connection) => void
}

interface Newcomer {
  /** Network of the peer. */
  address: string
  /** Holders that the connection counts for. */
  holders: Holders<'address'>
  handle: RequestHandler
}

/** Connections that share a budget, at whose bound idle ones make way. */
export class ConnectionGroup {
  /** Connections in the order in which they were opened. */
  readonly open = new Set<Connection>()
  readonly #parts: GroupParts
  /** The bounds, by address or `total`, within which no connection was idle at the last search. */
  readonly #busy = new Set<string>()
  #searchedMs = 0

  constructor(parts: GroupParts) {
    this.#parts = parts
  }

  /** Returns undefined when there is no room. */
  admit(socket: Socket, { address, holders, handle }: Newcomer): Connection | undefined {
    const { budget, nowMs } = this.#parts
    const share = budget.open(holders)
    if (!share.take(1) && !(this.#makeRoom(address) && share.take(1))) return undefined
    const onEnd = (ended: Connection) => this.open.delete(ended)
    const connection = new Connection(socket, { address, nowMs, share, handle, onEnd })
    this.open.add(connection)
    return connection
  }

  /** Closes so many idle connections, or all there are. Returns whether there was one. */
  makeWay(count: number, connections: readonly Connection[] = [...this.open]): boolean {
    const idle = connections.filter(connection => connection.isIdle())
    const isYoung = this.#isYoung()
    // a client takes the connection it used last, so that the longest idle one is hardly in use now
    const settled = idle.filter(one => !isYoung(one)).sort((a, b) => a.idleSinceMs - b.idleSinceMs)
    const ordered = [...settled, ...idle.filter(isYoung).reverse()]
    const ranked = ordered.map(connection => ({
      connection,
      rank: this.#rank(connection, isYoung(connection)),
    }))
    const chosen = ranked.sort((a, b) => b.rank - a.rank).slice(0, count)
    for (const { connection } of chosen) this.#parts.onMadeWay(connection)
    return chosen.length > 0
  }

  #makeRoom(address: string): boolean {
    const { budget, nowMs } = this.#parts
    const { total, per } = budget.limits
    const isAddressFull = budget.readUse('address', address) >= per.address
    const bound = isAddressFull ? address : 'total'
    if (nowMs() - this.#searchedMs >= SEARCH_EVERY_MS) {
      this.#searchedMs = nowMs()
      this.#busy.clear()
    }
    if (this.#busy.has(bound)) return false
    const most = isAddressFull ? per.address : total
    const connections = [...this.open].filter(one => !isAddressFull || one.address === address)
    const isRoom = this.makeWay(Math.ceil(most / MADE_WAY_PART), connections)
    if (!isRoom) this.#busy.add(bound)
    return isRoom
  }

  /** Returns a predicate for connections whose handshake or first request may be under way. */
  #isYoung(): (connection: Connection) => boolean {
    const sinceMs = this.#parts.nowMs() - this.#parts.headersTimeoutMs
    return ({ isKnown, openedMs }) => !isKnown && openedMs > sinceMs
  }

  /**
   * Returns how early a connection makes way: first those that let their time for a first request
   * with a key pass, then those of the address with most of them, without a key first.
   */
  #rank({ address, isKnown }: Connection, isYoung: boolean): number {
    const { budget } = this.#parts
    const used = 2 * budget.readUse('address', address)
    if (isKnown) return used
    return isYoung ? used + 1 : used + 2 * budget.limits.total + 2
  }
}
