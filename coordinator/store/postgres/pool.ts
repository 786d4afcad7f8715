import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import { Pool, type PoolClient, type PoolConfig, types } from 'pg'
import { faultOf, StoreFault, storeUnavailable } from '../faults.ts'
import { translatePostgresFaults } from './postgres-faults.ts'

/** The address of a PostgreSQL database; see the options of the driver. */
export type PostgresAddress = Pick<
  PoolConfig,
  'host' | 'port' | 'user' | 'password' | 'database' | 'ssl'
>

interface PoolParts {
  address: PostgresAddress
  connections: number
  /** Called when the server has become read-only: another one is the primary. */
  onDemoted: () => void
}

/** Longest wait for the server to accept a connection. */
const CONNECT_MS = 3000
/** Longest wait for the answer to one statement, after which the connection counts as lost. */
const ANSWER_MS = 30_000
const INT8 = 20

/** Numbers as the layers above read them: each `bigint` is below 2^53. */
const getTypeParser = ((oid: number, format?: 'text') =>
  oid === INT8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser

/**
 * Connections for Kysely. Statements are prepared once per connection, failures are faults of the
 * port. A database that has become read-only is no longer the primary: every connection is dropped
 * then, because a fail-over moves the address but not the connections that are open.
 */
export class ConnectionPool implements PostgresPool {
  readonly options: object = {}
  readonly #address: PostgresAddress
  readonly #connections: number
  /** Callers that wait for a connection: the driver's own line has a time limit. */
  readonly #waiting: PromiseWithResolvers<void>[] = []
  readonly #onDemoted: () => void
  #lent = 0
  readonly #statements = new Map<string, string>()
  #pool: Pool

  constructor({ address, connections, onDemoted }: PoolParts) {
    this.#address = address
    this.#connections = connections
    this.#onDemoted = onDemoted
    this.#pool = this.#open()
  }

  async connect(): Promise<PostgresPoolClient> {
    if (this.#lent === this.#connections) {
      const turn = Promise.withResolvers<void>()
      this.#waiting.push(turn)
      await turn.promise
    } else this.#lent++
    const pool = this.#pool
    try {
      return await translatePostgresFaults(async () => this.#lend(pool, await pool.connect()))
    } catch (error) {
      // those who wait would each wait as long for the same server
      for (const turn of this.#waiting.splice(0)) turn.reject(error)
      this.#passOn()
      throw error
    }
  }

  /** Drops every connection; those that are lent, when they come back. */
  replace(): void {
    const pool = this.#pool
    this.#pool = this.#open()
    void pool.end().catch(() => {})
  }

  end(): Promise<void> {
    return this.#pool.end()
  }

  #open(): Pool {
    const pool = new Pool({
      ...this.#address,
      max: this.#connections,
      connectionTimeoutMillis: CONNECT_MS,
      query_timeout: ANSWER_MS,
      keepAlive: true,
      types: { getTypeParser },
      application_name: 'shoal',
    })
    // an idle connection was lost: the pool has removed it, and the next user gets a new one
    pool.on('error', () => {})
    // without a listener of its own a connection that is lost between two owners ends the process
    pool.on('connect', client => client.on('error', () => {}))
    return pool
  }

  #lend(pool: Pool, client: PoolClient): PostgresPoolClient {
    let isLost = false
    const onError = (): void => {
      isLost = true
    }
    client.on('error', onError)
    const query = async (text: string, values: readonly unknown[]): Promise<unknown> => {
      if (isLost) throw createLostError()
      try {
        return await translatePostgresFaults(() => client.query(this.#statementOf(text, values)))
      } catch (error) {
        const fault = faultOf(error)
        isLost ||= fault === 'unavailable' || fault === 'read_only'
        if (fault === 'read_only' && pool === this.#pool) this.#onDemoted()
        throw error
      }
    }
    return {
      query: query as <R>() => Promise<PostgresQueryResult<R>> & never,
      release: (isDiscarded = false) => {
        client.off('error', onError)
        // a transaction whose first statements failed is still open
        client.release(isDiscarded || isLost || client.getTransactionStatus() !== 'I')
        this.#passOn()
      },
    }
  }

  /** Gives the place of a connection to the next caller. */
  #passOn(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#lent--
    else next.resolve()
  }

  /** Statements without values control transactions; they have no plan to keep. */
  #statementOf(text: string, values: readonly unknown[]) {
    if (values.length === 0) return { text }
    const name = this.#statements.get(text) ?? `shoal_${this.#statements.size}`
    if (this.#statements.size < MAX_STATEMENTS) this.#statements.set(text, name)
    return { text, values: [...values], ...(this.#statements.has(text) ? { name } : {}) }
  }
}

const createLostError = (): Error => {
  const message = 'the connection to the store was lost'
  return storeUnavailable(message, new StoreFault('unavailable', message, undefined))
}

/** Statements with lists of many lengths would otherwise fill the memory of the server. */
const MAX_STATEMENTS = 500
