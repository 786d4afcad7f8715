import { type ClientHttp2Session, connect, type OutgoingHttpHeaders } from 'node:http2'
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import type { CellLink } from '../fleet/cell-link.ts'

export interface LinkOptions {
  cellId: string
  socket: Socket
  logger: Logger
  /** How often the link is measured, and how long an answer may take. */
  pingEveryMs: number
  up: (link: CellLink) => void
  down: (link: CellLink) => void
}

/** More than any cell has slots and queue for: the cell's admission is the judge, not the link. */
const MAX_STREAMS = 100_000
/** A cell that has not begun to speak HTTP/2 by then is cut off. */
const GREETING_MS = 5000
/** Room for many streams in one session; a stream of its own is held back by its window. */
const SESSION_WINDOW_BYTES = 64 * 1024 * 1024

/**
 * The link to one cell: an HTTP/2 session over the socket that the cell dialled, in which the
 * coordinator is the client. A cell that does not answer a ping in time is cut off.
 */
export const openLink = (options: LinkOptions): CellLink => {
  const { cellId, socket, logger, up, down } = options
  const session = connect('http://cell', {
    createConnection: () => socket,
    peerMaxConcurrentStreams: MAX_STREAMS,
    maxSessionMemory: 1000,
    settings: { enablePush: false },
  })
  let roundTripMs: number | undefined
  /** Down first: what is on its streams now is sent elsewhere, and must not come back to it. */
  const cutOff = (reason?: Error): void => {
    down(link)
    session.destroy(reason)
  }

  const link: CellLink = {
    cellId,
    request: (headers, body) => request(session, cellId, headers, body),
    roundTripMs: () => roundTripMs,
    close: () => cutOff(),
  }

  const stopPinging = keepPinging(session, {
    everyMs: options.pingEveryMs,
    measured: milliseconds => {
      roundTripMs = milliseconds
    },
    late: cutOff,
  })
  session.once('connect', () => session.setLocalWindowSize(SESSION_WINDOW_BYTES))
  const late = setTimeout(cutOff, GREETING_MS)
  session.once('remoteSettings', () => {
    clearTimeout(late)
    up(link)
  })
  session.on('goaway', () => down(link))
  session.on('error', error => logger.info({ cell: cellId, reason: error.message }, 'link failed'))
  session.once('close', () => {
    clearTimeout(late)
    stopPinging()
    socket.destroy()
    down(link)
  })
  return link
}

const request = (
  session: ClientHttp2Session,
  cellId: string,
  headers: OutgoingHttpHeaders,
  body: Buffer | undefined,
) => {
  if (session.destroyed || session.closed)
    throw new ShoalError('cell_unavailable', `the link to ${cellId} is closed`)
  const stream = session.request(headers, { endStream: body === undefined })
  if (body !== undefined) stream.end(body)
  return stream
}

interface Pinging {
  everyMs: number
  measured: (milliseconds: number) => void
  late: (reason: Error) => void
}

const keepPinging = (
  session: ClientHttp2Session,
  { everyMs, measured, late }: Pinging,
): (() => void) => {
  let waiting = false
  const ping = (): void => {
    if (session.destroyed) return
    if (waiting) {
      late(new Error(`no answer to a ping within ${everyMs} ms`))
      return
    }
    waiting = true
    session.ping((error, duration) => {
      waiting = false
      if (error === null) measured(duration)
    })
  }
  session.once('remoteSettings', ping)
  const timer = setInterval(ping, everyMs)
  return () => clearInterval(timer)
}
