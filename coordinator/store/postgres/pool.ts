import type { PostgresPool, PostgresPoolClient, PostgresQueryResult } from 'kysely'
import { Pool, type PoolClient, type PoolConfig, types } from 'pg'
import { faultOf } from '../faults.ts'
import { translatePostgresFaults } from './postgres-faults.ts'

/** Where a PostgreSQL database is; see the options of the driver. */
export type PostgresAddress = Pick<
  PoolConfig,
  'connectionString' | 'host' | 'port' | 'user' | 'password' | 'database' | 'ssl'
>

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
  readonly #waiting: (() => void)[] = []
  #lent = 0
  readonly #statements = new Map<string, string>()
  #pool: Pool

  constructor(address: PostgresAddress, connections: number) {
    this.#address = address
    this.#connections = connections
    this.#pool = this.#open()
  }

  async connect(): Promise<PostgresPoolClient> {
    if (this.#lent === this.#connections)
      await new Promise<void>(resolve => this.#waiting.push(resolve))
    else this.#lent++
    const pool = this.#pool
    try {
      return await translatePostgresFaults(async () => this.#lend(pool, await pool.connect()))
    } catch (error) {
      this.#passOn()
      throw error
    }
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
    return pool
  }

  #lend(pool: Pool, client: PoolClient): PostgresPoolClient {
    let isLost = false
    /** Without a listener the loss of a connection between two statements would end the process. */
    const onError = (): void => {
      isLost = true
    }
    client.on('error', onError)
    const query = async (text: string, values: readonly unknown[]): Promise<unknown> => {
      try {
        return await translatePostgresFaults(() => client.query(this.#statementOf(text, values)))
      } catch (error) {
        const fault = faultOf(error)
        isLost ||= fault === 'unavailable' || fault === 'read_only'
        if (fault === 'read_only') this.#replace(pool)
        throw error
      }
    }
    return {
      query: query as <R>() => Promise<PostgresQueryResult<R>> & never,
      release: (isDiscarded = false) => {
        client.off('error', onError)
        client.release(isDiscarded || isLost)
        this.#passOn()
      },
    }
  }

  /** Gives the place of a connection to the next caller. */
  #passOn(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#lent--
    else next()
  }

  #replace(pool: Pool): void {
    if (pool !== this.#pool) return
    this.#pool = this.#open()
    void pool.end().catch(() => {})
  }

  /** Statements without values control transactions; they have no plan to keep. */
  #statementOf(text: string, values: readonly unknown[]) {
    if (values.length === 0) return { text }
    const name = this.#statements.get(text) ?? `shoal_${this.#statements.size}`
    if (this.#statements.size < MAX_STATEMENTS) this.#statements.set(text, name)
    return { text, values: [...values], ...(this.#statements.has(text) ? { name } : {}) }
  }
}

/** Statements with lists of many lengths would otherwise fill the memory of the server. */
const MAX_STATEMENTS = 500
