import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import { LINK_PATH, LINK_PROTOCOL } from '../../shared/wire/link.ts'
import type { HealthRegistry } from '../health.ts'
import type { Identity } from '../identity.ts'
import type { HttpRequest, HttpResponse } from '../inference/openai/http.ts'
import type { Service } from '../service.ts'
import { dial } from '../uplink/dial.ts'
import { keepConnected } from '../uplink/keep-connected.ts'
import type { Nudge } from '../uplink/nudge.ts'
import type { QuarantineNotice } from '../uplink/quarantine-notice.ts'

/** Answers one request, over HTTP/1.1 or HTTP/2. */
export type Handle = (request: HttpRequest, response: HttpResponse) => void

interface LinkServiceOptions {
  identity: Identity
  /** Address of the coordinator. */
  url: string
  connectTimeoutSeconds: number
  handle: Handle
  health: HealthRegistry
  nudge: Nudge
  quarantine?: QuarantineNotice
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
 * The data plane: the cell dials the coordinator, and then serves HTTP/2 on that connection. Every
 * end of it cancels the requests that were on it.
 */
export const linkService = (options: LinkServiceOptions): Service => {
  const server = createServer(OPTIONS, options.handle)
  // a broken session ends its connection, and that is seen there
  server.on('sessionError', () => {})
  return {
    name: 'link',
    start: async ({ signal, fail }) => {
      const { health, nudge, quarantine, wait, random } = options
      keepConnected({
        name: 'link connection',
        connect: up => connect(server, up, signal, options),
        signal,
        health,
        nudge,
        quarantine,
        ...(wait && { wait }),
        ...(random && { random }),
      }).catch(fail)
    },
  }
}

const connect = async (
  server: Http2Server,
  onUp: () => void,
  signal: AbortSignal,
  { identity, url, connectTimeoutSeconds, wait = realWait }: LinkServiceOptions,
): Promise<void> => {
  const socket = await dial({
    url,
    path: LINK_PATH,
    protocol: LINK_PROTOCOL,
    identity,
    timeoutSeconds: connectTimeoutSeconds,
    signal,
  })
  const over = new AbortController()
  const closed = new Promise<void>(resolve => socket.once('close', () => resolve()))
  const stop = () => socket.destroy()
  signal.addEventListener('abort', stop)
  const session = serve(server, socket)
  onUp()
  watchPeer(session, wait, over.signal).catch(() => socket.destroy())
  await closed
  signal.removeEventListener('abort', stop)
  over.abort()
  session.destroy()
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
  if (session === undefined) throw new Error('the HTTP/2 session was not made')
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
    if (!answered) throw new Error('the coordinator does not answer')
  }
}
