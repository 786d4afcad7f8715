import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import { type CellLink, SILENCE_MS } from '../fleet/cell-link.ts'
import { LinkSession } from './link-session.ts'
import { Pings } from './pings.ts'

export interface CellLinkOptions {
  cellId: string
  socket: Socket
  logger: Logger
  /** Interval of pings, and the time within which the cell must answer one. */
  pingEveryMs: number
  /** Called once the cell has sent its settings. */
  onUp: (link: CellLink) => void
  /** Called when the link takes no more requests, perhaps again when it has closed. */
  onDown: (link: CellLink) => void
}

/** Time within which a cell must send its settings. */
const GREETING_MS = 5000

/**
 * Opens the link to one cell: an HTTP/2 session over the socket that the cell dialled, in which the
 * coordinator is the client. A cell that does not answer a ping in time is disconnected.
 */
export const openLink = (options: CellLinkOptions): CellLink => {
  const { cellId, socket, logger, pingEveryMs, onUp, onDown } = options
  let roundTripMs: number | undefined
  let pings: Pings | undefined

  const session = new LinkSession(socket, {
    onReady: () => {
      clearTimeout(greeting)
      pings = new Pings({
        everyMs: pingEveryMs,
        send: payload => session.ping(payload),
        onMeasured: milliseconds => {
          roundTripMs = milliseconds
          session.beat(silentBeats)
        },
        onLate: reason => session.destroy(reason),
      })
      onUp(link)
    },
    onPong: payload => pings?.receiveAnswer(payload),
    onLeaving: () => onDown(link),
    // called before the streams close: their requests are retried and must not return to this link
    onClosed: reason => {
      clearTimeout(greeting)
      pings?.stop()
      if (reason !== undefined) logger.info({ cell: cellId, reason: reason.message }, 'link failed')
      onDown(link)
    },
  })
  const greeting = setTimeout(() => session.destroy(), GREETING_MS)
  const silentBeats = Math.ceil(SILENCE_MS / pingEveryMs)

  const link: CellLink = {
    cellId,
    request: (request, listener) => {
      if (!session.isOpen)
        throw new ShoalError('cell_unavailable', `the link to ${cellId} is closed`)
      return session.request(request, listener)
    },
    roundTripMs: () => roundTripMs,
    close: () => session.destroy(),
  }
  return link
}
