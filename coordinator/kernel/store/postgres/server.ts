import { ShoalError } from '../../../../shared/errors.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { wait } from '../../../../shared/wait.ts'
import { faultOf, StoreFault, storeUnavailable } from '../faults.ts'
import { Connection, type PostgresAddress, type ServerFacts } from './connection.ts'

/** Interval of the pulse: together with its limit, an outage is noticed within 3 s. */
const PULSE_MS = 500
/** Shortest time between two attempts to reach a database that is away; at most twice that. */
const ATTEMPT_MS = 200
const RETRY_AFTER_SECONDS = 2
const PORT = 5432

/** Receives the reason when the database is away, and with undefined when it is back. */
type OutageListener = (reason: string | undefined) => void

/**
 * The server behind an address, and a circuit breaker for all connections to it. A pulse on a
 * connection of its own tells when the server does not answer any more or accepts no writes. From
 * then on everything fails at once, until the server, or another one of the address, can be used.
 */
export class Server {
  readonly #address: PostgresAddress
  readonly #listeners = new Set<OutageListener>()
  readonly #closing = new AbortController()
  readonly #running: Promise<void>
  #host: string
  #pulse: Connection
  #fault: ShoalError | undefined
  #suspicion = new AbortController()

  private constructor(address: PostgresAddress, { host, connection }: Reached) {
    this.#address = address
    this.#host = host
    this.#pulse = connection
    this.#running = this.#watch()
  }

  /** Throws `store_unavailable` when no host of the address can be used. */
  static async open(address: PostgresAddress): Promise<Server> {
    try {
      return new Server(address, await reachPrimary(address))
    } catch (error) {
      throw nameStore(address, error as Error)
    }
  }

  /** Reason why the database cannot be used now. */
  get outage(): string | undefined {
    return this.#fault?.message
  }

  facts(): Promise<ServerFacts> {
    return this.#pulse.check()
  }

  /** A new connection. Throws at once while the database is away. */
  async connect(): Promise<Connection> {
    this.requireReachable()
    const host = this.#host
    try {
      const connection = await Connection.open(this.#address, host)
      if (host === this.#host && this.#fault === undefined) return connection
      connection.destroy()
    } catch (error) {
      this.suspect(error)
      throw error
    }
    throw this.#fault ?? createAwayError(new Error('it has just changed'))
  }

  requireReachable(): void {
    if (this.#fault !== undefined) throw this.#fault
  }

  /** Tells of a failure: the pulse is felt at once, and a server that was demoted is left. */
  suspect(error: unknown): void {
    if (faultOf(error) === 'read_only') this.#leave(error as Error)
    this.#suspicion.abort()
  }

  /** Returns how to stop that. */
  onOutage(listener: OutageListener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#suspicion.abort()
    await this.#running
    await this.#pulse.end()
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      this.#suspicion = new AbortController()
      if (this.#fault === undefined) await wait(PULSE_MS, this.#suspicion.signal)
      if (signal.aborted) return
      await this.#checkConnection().catch(error => this.#leave(error))
      if (this.#fault !== undefined) await this.#recover()
    }
  }

  async #checkConnection(): Promise<void> {
    if (this.#fault !== undefined) return
    try {
      await this.#pulse.check()
    } catch (error) {
      this.#pulse.destroy()
      if (faultOf(error) !== 'lost') throw error
      // the connection alone may have been lost
      this.#pulse = await Connection.open(this.#address, this.#host)
    }
  }

  #leave(error: Error): void {
    if (this.#fault !== undefined) return
    this.#fault = createAwayError(error)
    const { message } = nameStore(this.#address, this.#fault)
    for (const listener of this.#listeners) listener(message)
  }

  async #recover(): Promise<void> {
    const { signal } = this.#closing
    this.#pulse.destroy()
    while (!signal.aborted)
      try {
        const { host, connection } = await reachPrimary(this.#address, this.#host)
        this.#host = host
        this.#pulse = connection
        this.#fault = undefined
        for (const listener of this.#listeners) listener(undefined)
        return
      } catch (error) {
        this.#fault = createAwayError(error as Error)
        await wait(ATTEMPT_MS * (1 + systemRuntime.random()), signal)
      }
  }
}

interface Reached {
  host: string
  connection: Connection
}

/** The first host that accepts writes, beginning with the one that did before. */
const reachPrimary = async (address: PostgresAddress, last?: string): Promise<Reached> => {
  const hosts = address.host.split(',')
  const first = Math.max(0, hosts.indexOf(last ?? ''))
  let failure: unknown
  for (const host of [...hosts.slice(first), ...hosts.slice(0, first)])
    try {
      return { host, connection: await Connection.open(address, host) }
    } catch (error) {
      failure = error
    }
  throw failure
}

/** Tells an operator which store failed; clients are not told where it is. */
const nameStore = ({ host, port = PORT }: PostgresAddress, error: Error): Error => {
  const places = host
    .split(',')
    .map(each => (each.startsWith('/') ? `${each}/.s.PGSQL.${port}` : `${each}:${port}`))
  return new ShoalError(
    'store_unavailable',
    `${error.message}; the store is at ${places.join(', ')}`,
    {
      cause: error.cause ?? error,
    },
  )
}

const createAwayError = (error: Error): ShoalError => {
  const message = `the database is unavailable: ${error.message}`
  const fault = new StoreFault('away', error.message, error)
  return storeUnavailable(message, fault, RETRY_AFTER_SECONDS)
}
