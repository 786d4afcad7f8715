import type { Socket } from 'node:net'
import { Client, type ClientConfig, type QueryResult, types } from 'pg'
import { stopTimer, systemRuntime, type Timer } from '../../../../shared/runtime.ts'
import { faultOf, StoreFault, storeUnavailable } from '../faults.ts'
import { createLostError, translatePostgresFaults } from './postgres-faults.ts'
import type { Statements } from './statements.ts'

/** The address of a PostgreSQL database; see the options of the driver. */
export interface PostgresAddress
  extends Pick<ClientConfig, 'port' | 'user' | 'password' | 'database' | 'ssl'> {
  /** One host, or several with commas, of which the one that accepts writes is used. */
  host: string
  /** False for a pooler that knows no prepared statements. */
  prepared?: boolean | undefined
}

/** Facts that a server states about itself. */
export interface ServerFacts {
  version: number
  encoding: string
  /** Time after which PostgreSQL looks for a deadlock. */
  deadlockMs: number
}

/** Longest wait for the server to accept a connection. */
const CONNECT_MS = 1500
const KEEP_ALIVE_MS = 2000
/** Longest wait for a server that was reached to say what it is. */
const CHECK_MS = 2000
const INT8 = 20

/** Numbers as the layers above read them: each `bigint` is below 2^53. */
const getTypeParser = ((oid: number, format?: 'text') =>
  oid === INT8 ? Number : types.getTypeParser(oid, format)) as typeof types.getTypeParser

const CHECK = `select current_setting('transaction_read_only') = 'on' as read_only,
  current_setting('server_version_num')::int as version,
  current_setting('server_encoding') as encoding,
  (extract(epoch from current_setting('deadlock_timeout')::interval) * 1000)::int as deadlock_ms`

/** Statements whose success the next one shows: nothing has to wait for their answers. */
const SAVEPOINT = /^(savepoint|release) /

const NO_ROWS = { command: '', rowCount: 0, rows: [] }

/**
 * One connection to one server. Failures are faults of the port; after one that leaves the state
 * of the session in doubt, the connection is lost and never used again. Nothing is set for the
 * session, because a pooler in transaction mode gives it to others.
 */
export class Connection {
  readonly #client: Client
  readonly #socket: Socket
  #isLost = false
  #isOverdue = false
  /** First failure of a statement that nobody waited for. */
  #unseen: Error | undefined

  private constructor(address: PostgresAddress, host: string) {
    const { prepared: _, ...config } = address
    const socket = systemRuntime.connect()
    this.#socket = socket
    this.#client = new Client({
      ...config,
      host,
      stream: () => socket,
      connectionTimeoutMillis: CONNECT_MS,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      types: { getTypeParser },
      application_name: 'shoal',
      pipeline: true,
    })
    this.#client.on('error', () => {
      this.#isLost = true
    })
  }

  /** Connects to one host. Rejects with fault `read_only` when it accepts no writes. */
  static async open(address: PostgresAddress, host: string): Promise<Connection> {
    const connection = new Connection(address, host)
    try {
      await translatePostgresFaults(() => connection.#client.connect())
      await connection.check()
      return connection
    } catch (error) {
      connection.destroy()
      throw error
    }
  }

  /** True when the next user gets it as the first one did. */
  get isReusable(): boolean {
    // a transaction whose first statements failed is still open
    return !this.#isLost && this.#client.getTransactionStatus() === 'I'
  }

  /** Reads what the server says of itself. Rejects with fault `read_only` for a standby. */
  async check(): Promise<ServerFacts> {
    const { rows } = await this.query({ text: CHECK, limitMs: CHECK_MS })
    const { read_only, version, encoding, deadlock_ms } = rows[0]
    if (read_only) throw createReadOnlyError()
    return { version, encoding, deadlockMs: deadlock_ms }
  }

  /** Runs a statement; without an answer in time the connection is lost. */
  async query({ text, values, statements, limitMs }: Question): Promise<QueryResult> {
    if (this.#isLost) throw createLostError()
    const isCommit = text === 'commit'
    const answer = this.#ask({ text, values, statements, limitMs })
    if (SAVEPOINT.test(text)) {
      answer.catch(error => {
        this.#unseen ??= error
      })
      return NO_ROWS as unknown as QueryResult
    }
    try {
      return await answer
    } catch (error) {
      if (isCommit && isLoss(error)) throw createUncertainError(error as Error)
      if (faultOf(error) === 'outdated') {
        statements?.clear()
        // outside a transaction nothing else was undone
        if (this.isReusable) return this.query({ text, values, limitMs })
      }
      throw this.#unseen ?? error
    } finally {
      if (text === 'rollback') this.#unseen = undefined
    }
  }

  /** Ends the connection at once; statements under way fail. */
  destroy(): void {
    this.#isLost = true
    this.#socket.destroy()
  }

  /** Tells the server first, so that it forgets the session now. */
  async end(): Promise<void> {
    this.#isLost = true
    const timer = systemRuntime.setTimeout(() => this.#socket.destroy(), CONNECT_MS)
    await this.#client.end().catch(() => {})
    stopTimer(timer)
  }

  async #ask({ text, values = [], statements, limitMs }: Question): Promise<QueryResult> {
    const stopWaiting = onSilence(limitMs, () => {
      this.#isOverdue = true
      this.destroy()
    })
    // statements without values control transactions; they have no plan to keep
    const name = values.length === 0 ? undefined : statements?.nameOf(text)
    const config = { text, values: [...values], ...(name === undefined ? {} : { name }) }
    try {
      return await translatePostgresFaults(() =>
        this.#client.query(values.length === 0 ? text : config),
      )
    } catch (error) {
      this.#isLost ||= isLoss(error) || faultOf(error) === 'read_only'
      throw this.#isOverdue ? createOverdueError(limitMs) : error
    } finally {
      stopWaiting()
    }
  }
}

/** Calls back after the time, unless an answer has only waited for an event loop that was late. */
const onSilence = (milliseconds: number, callback: () => void): (() => void) => {
  let last: Timer | undefined
  const timer = systemRuntime.setTimeout(() => {
    last = systemRuntime.setImmediate(callback)
  }, milliseconds)
  return () => {
    stopTimer(timer)
    stopTimer(last)
  }
}

const isLoss = (error: unknown): boolean =>
  ['lost', 'away', 'unavailable'].includes(faultOf(error) ?? '')

interface Question {
  text: string
  values?: readonly unknown[] | undefined
  /** Names of prepared statements; without them none is prepared. */
  statements?: Pick<Statements, 'nameOf' | 'clear'> | undefined
  limitMs: number
}

const createReadOnlyError = (): Error => {
  const message = 'the database accepts no writes: it is a standby, or was demoted'
  return storeUnavailable(message, new StoreFault('read_only', message, undefined))
}

const createOverdueError = (limitMs: number): Error => {
  const message = `the database gave no answer within ${limitMs / 1000} s`
  return storeUnavailable(message, new StoreFault('away', message, undefined))
}

/** The server may have done it or not: a caller must look before it tries again. */
const createUncertainError = (cause: Error): Error => {
  const message =
    'the connection to the database was lost during a commit: the change may or may not have been made'
  return storeUnavailable(message, new StoreFault('uncertain', message, cause))
}
