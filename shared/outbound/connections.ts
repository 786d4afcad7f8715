import { createRequire } from 'node:module'
import type { LookupFunction, Socket } from 'node:net'
import { LRUCache } from 'lru-cache'
import type { buildConnector, Client, Dispatcher, Pool } from 'undici'
import { lazy } from '../lazy.ts'
import type { Address } from './resolve.ts'

/** Target of connections, at the addresses that were judged. */
export interface ConnectionTarget {
  url: URL
  addresses: readonly Address[]
  /** Unix socket to connect to instead. */
  socketPath?: string
  /** Authorities beside the system's, PEM. */
  ca?: string | Buffer
  /** Certificate of this client, host name of the server's, and whether that is checked. */
  tls?: {
    cert?: string | Buffer
    key?: string | Buffer
    servername?: string
    rejectUnauthorized?: boolean
  }
  /** Longest time to connect; the caller has a limit of its own, which is shorter. */
  connectSeconds: number
}

const MAX_HEADER_BYTES = 16 * 1024
/** Idle time, below that of common servers, so that they do not close a connection in use. */
const KEEP_ALIVE_MS = 1500
/** Longest time that a server can ask an idle connection to be kept. */
const MAX_KEEP_ALIVE_MS = 10_000
const MAX_TARGETS = 64

// all of undici takes 80 ms of CPU and 21 MB to load, its dispatchers 20 ms and 3 MB
const require = createRequire(import.meta.url)
const loadClient = lazy(() => require('undici/lib/dispatcher/client.js') as typeof Client)
const loadConnector = lazy(() => require('undici/lib/core/connect.js') as typeof buildConnector)
const loadPool = lazy(() => require('undici/lib/dispatcher/pool.js') as typeof Pool)

/** A connection for one request. */
interface OwnConnection {
  dispatcher: Dispatcher
  close(error: Error): void
}

/** Opens a connection for one request; the caller closes it. */
export const openConnection = (target: ConnectionTarget): OwnConnection => {
  const { connect: place, ...options } = optionsOf(target)
  const connector = loadConnector()(place) as (
    ...given: Parameters<buildConnector.connector>
  ) => Socket
  let connecting: Socket | undefined
  const connect: buildConnector.connector = (given, callback) => {
    connecting = connector(given, (...result) => {
      connecting = undefined
      callback(...result)
    })
  }
  const dispatcher = new (loadClient())(target.url.origin, { ...options, connect, pipelining: 0 })
  return {
    dispatcher,
    close: error => {
      void dispatcher.destroy(error)
      // undici lets an attempt to connect go on until its own time limit
      connecting?.destroy(error)
    },
  }
}

/**
 * Connections that stay open between requests: a new one costs ten times the CPU of a request. One is
 * used again only for the same name at exactly the same judged addresses, with the same TLS.
 */
export class KeptConnections {
  readonly #pools = new LRUCache<string, Pool>({
    max: MAX_TARGETS,
    // requests in flight end first
    dispose: pool => void pool.close(),
  })

  take(target: ConnectionTarget): Dispatcher {
    const { url, addresses, socketPath, ca, tls } = target
    const places = addresses.map(({ address }) => address).toSorted()
    const key = JSON.stringify([url.origin, socketPath, ca?.toString(), tls, places])
    const known = this.#pools.get(key)
    if (known !== undefined) return known
    const pool = new (loadPool())(url.origin, {
      ...optionsOf(target),
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS,
    })
    this.#pools.set(key, pool)
    return pool
  }
}

const optionsOf = ({ addresses, socketPath, ca, tls, connectSeconds }: ConnectionTarget) => ({
  maxHeaderSize: MAX_HEADER_BYTES,
  maxRedirections: 0,
  // the phases of the caller limit both
  headersTimeout: 0,
  bodyTimeout: 0,
  connect: {
    ...tls,
    lookup: createPinnedLookup(addresses),
    timeout: connectSeconds * 1000 + 1000,
    ...(socketPath === undefined ? {} : { socketPath }),
    ...(ca === undefined ? {} : { ca }),
  },
})

/** Answers the addresses that were judged, whatever the name means by now. */
export const createPinnedLookup =
  (addresses: readonly Address[]): LookupFunction =>
  (_host, options, callback) => {
    const [first] = addresses
    if (options.all) callback(null, [...addresses])
    else callback(null, first?.address ?? '', first?.family)
  }
