import type { PostgresPool, PostgresPoolClient } from 'kysely'
import { stopTimer, systemRuntime, type Timer } from '../../../../shared/runtime.ts'
import { faultOf } from '../faults.ts'
import type { Connection } from './connection.ts'
import type { Server } from './server.ts'
import type { Statements } from './statements.ts'

interface PoolParts {
  server: Server
  connections: number
  /** Longest wait for the answer to one statement, after which the connection counts as lost. */
  answerMs: number
  /** Undefined where a pooler knows no prepared statements. */
  statements: Statements | undefined
}

/** Connections that nobody has used for so long are given back to the server. */
const IDLE_MS = 30_000

/** Time for which only existing connections are used after the server has refused a new one. */
const REFUSED_MS = 1000

/**
 * Connections for Kysely, the most recently used first. All of them are dropped when the server is
 * left: one that was cut off never answers, and a fail-over moves the address but not what is open.
 */
export class ConnectionPool implements PostgresPool {
  readonly options: object = {}
  readonly #parts: PoolParts
  readonly #idle: { connection: Connection; timer: Timer }[] = []
  readonly #lent = new Set<Connection>()
  readonly #waiting: PromiseWithResolvers<void>[] = []
  readonly #stopListening: () => void
  /** Connections that are lent or being opened. */
  #taken = 0
  #refusedAtMs = Number.NEGATIVE_INFINITY
  #onReturn: (() => void) | undefined

  constructor(parts: PoolParts) {
    this.#parts = parts
    this.#stopListening = parts.server.onOutage(() => this.#drop())
  }

  async connect(): Promise<PostgresPoolClient> {
    const { server } = this.#parts
    server.requireReachable()
    if (this.#isFull()) {
      const turn = Promise.withResolvers<void>()
      this.#waiting.push(turn)
      await turn.promise
    } else this.#taken++
    try {
      return this.#lend(this.#takeIdle() ?? (await server.connect()))
    } catch (error) {
      this.#refusedAtMs = systemRuntime.nowMs()
      this.#taken--
      // a server that has no room for more still answers on what is open
      if (server.outage === undefined && this.#lent.size + this.#idle.length > 0)
        return this.connect()
      // those who wait would each wait as long for the same server
      for (const turn of this.#waiting.splice(0)) turn.reject(error)
      if (this.#taken === 0) this.#onReturn?.()
      throw error
    }
  }

  #isFull(): boolean {
    if (this.#taken === this.#parts.connections) return true
    const wasRefused = systemRuntime.nowMs() - this.#refusedAtMs < REFUSED_MS
    return wasRefused && this.#idle.length === 0 && this.#lent.size > 0
  }

  /** Waits for the statements under way, each of which has its limit. */
  async end(): Promise<void> {
    this.#stopListening()
    if (this.#taken > 0)
      await new Promise<void>(resolve => {
        this.#onReturn = resolve
      })
    await Promise.all(
      this.#idle.splice(0).map(({ connection, timer }) => {
        stopTimer(timer)
        return connection.end()
      }),
    )
  }

  #drop(): void {
    for (const { connection, timer } of this.#idle.splice(0)) {
      stopTimer(timer)
      connection.destroy()
    }
    for (const connection of this.#lent) connection.destroy()
  }

  #takeIdle(): Connection | undefined {
    for (let idle = this.#idle.pop(); idle !== undefined; idle = this.#idle.pop()) {
      stopTimer(idle.timer)
      if (idle.connection.isReusable) return idle.connection
      idle.connection.destroy()
    }
    return undefined
  }

  #lend(connection: Connection): PostgresPoolClient {
    const { server, answerMs: limitMs, statements } = this.#parts
    this.#lent.add(connection)
    const query = async (text: string, values: readonly unknown[]): Promise<unknown> => {
      try {
        return await connection.query({ text, values, statements, limitMs })
      } catch (error) {
        if (losesServer(error)) server.suspect(error)
        throw error
      }
    }
    return {
      query: query as PostgresPoolClient['query'],
      release: (isDiscarded = false) => {
        this.#lent.delete(connection)
        if (isDiscarded || !connection.isReusable) connection.destroy()
        else this.#keep(connection)
        this.#passOn()
      },
    }
  }

  #keep(connection: Connection): void {
    const timer = systemRuntime.setTimeout(() => {
      this.#idle.splice(this.#idle.indexOf(entry), 1)
      void connection.end()
    }, IDLE_MS)
    timer.unref()
    const entry = { connection, timer }
    this.#idle.push(entry)
  }

  /** Gives the place of a connection to the next caller. */
  #passOn(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#taken--
    else next.resolve()
    if (this.#taken === 0) this.#onReturn?.()
  }
}

/** True for a failure after which the server itself may be gone. */
const losesServer = (error: unknown): boolean =>
  ['lost', 'uncertain', 'read_only'].includes(faultOf(error) ?? '')
