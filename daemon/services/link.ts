import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { TLSSocket } from 'node:tls'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import { LINK_PATH, LINK_PROTOCOL } from '../../shared/wire/link.ts'
import type { KnownCoordinators } from '../coordinators/known-coordinators.ts'
import {
  type ConnectionEvents,
  type DialTarget,
  PlaneConnections,
  type PlaneOptions,
} from '../coordinators/plane-connections.ts'
import type { HealthRegistry } from '../health.ts'
import type { Identity } from '../identity.ts'
import type { HttpRequest, HttpResponse } from '../inference/openai/http.ts'
import type { Service } from '../service.ts'
import { dial } from '../uplink/dial.ts'
import type { Nudge } from '../uplink/nudge.ts'
import type { QuarantineNotice } from '../uplink/quarantine-notice.ts'

/** Answers one request, over HTTP/1.1 or HTTP/2. */
export type Handle = (request: HttpRequest, response: HttpResponse) => void

interface LinkServiceOptions {
  identity: Identity
  /** Coordinators of the fleet; the uplink learns who lives. */
  coordinators: KnownCoordinators
  connectTimeoutSeconds: number
  handle: Handle
  health: HealthRegistry
  nudge: Nudge
  quarantine?: QuarantineNotice
  onCoverage?: PlaneOptions['onCoverage']
  wait?: Wait
  random?: () => number
}

const PING_MS = 5000
/** Room for request bodies of many streams, so that one that is not read stops no other. */
const SESSION_WINDOW_BYTES = 16 * 1024 * 1024
/**
 * The coordinator is the only client and cancels a request whenever its client disconnects: Node's
 * limits against hostile peers would end the link when many clients leave at once.
 */
const OPTIONS = {
  settings: { maxConcurrentStreams: 100_000, initialWindowSize: 1024 * 1024 },
  maxSessionMemory: 1000,
  streamResetBurst: 1_000_000,
  streamResetRate: 100_000,
}

/**
 * The data plane: the cell dials every coordinator, and then serves HTTP/2 on that connection. Every
 * end of one cancels the requests that were on it. One handler serves them all, so that the engines
 * admit requests as if they had come over a single link.
 */
export const linkService = (options: LinkServiceOptions): Service => {
  const server = createServer(OPTIONS, options.handle)
  // a broken session ends its connection, and that is seen there
  server.on('sessionError', () => {})
  return {
    name: 'link',
    start: async ({ signal, fail }) => {
      const { coordinators, health, nudge, quarantine, onCoverage, wait, random } = options
      const connections = new PlaneConnections({
        name: 'link connection',
        known: coordinators,
        connect: (target, events) => connect(server, { target, events, signal }, options),
        signal,
        health,
        nudge,
        quarantine,
        onCoverage,
        wait,
        random,
      })
      connections.run().catch(fail)
    },
  }
}

interface LinkDial {
  target: DialTarget
  events: ConnectionEvents
  signal: AbortSignal
}

const connect = async (
  server: Http2Server,
  { target: { url, linked }, events, signal }: LinkDial,
  { identity, connectTimeoutSeconds, wait = realWait }: LinkServiceOptions,
): Promise<void> => {
  const { socket, replica } = await dial({
    url,
    path: LINK_PATH,
    protocol: LINK_PROTOCOL,
    identity,
    linked,
    timeoutSeconds: connectTimeoutSeconds,
    signal,
  })
  const over = new AbortController()
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  const stop = () => socket.destroy()
  signal.addEventListener('abort', stop)
  try {
    events.onMet(replica)
    const session = serve(server, socket)
    events.onUp()
    watchPeer(session, wait, over.signal).catch(() => socket.destroy())
    await closed
    session.destroy()
  } finally {
    signal.removeEventListener('abort', stop)
    over.abort()
    socket.destroy()
  }
}

/** Starts a session on a socket; node makes it before `emit` returns. */
const serve = (server: Http2Server, socket: Socket): ServerHttp2Session => {
  let session: ServerHttp2Session | undefined
  const take = (made: ServerHttp2Session) => {
    session = made
  }
  // The upgrade has already selected the protocol; TLS itself negotiated HTTP/1.1
  if (socket instanceof TLSSocket) socket.alpnProtocol = 'h2'
  server.once('session', take)
  server.emit('connection', socket)
  server.off('session', take)
  if (session === undefined) throw new Error('the HTTP/2 session was not established')
  session.setLocalWindowSize(SESSION_WINDOW_BYTES)
  return session
}

/** Rejects when a ping is not answered before the next one is due. */
const watchPeer = async (session: ServerHttp2Session, wait: Wait, signal: AbortSignal) => {
  while (!signal.aborted) {
    let answered = false
    session.ping(error => {
      answered = error === null
    })
    await wait(PING_MS, signal)
    // timers run before sockets: after a suspension the answer may have arrived without being read
    await setImmediate()
    if (!answered) throw new Error('the coordinator does not answer')
  }
}
