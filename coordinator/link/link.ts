import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { ShoalError } from '../../shared/errors.ts'
import { type CellLink, SILENCE_MS } from '../fleet/cell-link.ts'
import { Pings } from './pings.ts'
import { Session } from './session.ts'

export interface LinkOptions {
  cellId: string
  socket: Socket
  logger: Logger
  /** How often the link is measured, and how long an answer may take. */
  pingEveryMs: number
  up: (link: CellLink) => void
  down: (link: CellLink) => void
}

/** A cell that has not begun to speak HTTP/2 by then is cut off. */
const GREETING_MS = 5000

/**
 * The link to one cell: an HTTP/2 session over the socket that the cell dialled, in which the
 * coordinator is the client. A cell that does not answer a ping in time is cut off.
 */
export const openLink = (options: LinkOptions): CellLink => {
  const { cellId, socket, logger, pingEveryMs, up, down } = options
  let roundTripMs: number | undefined
  let pings: Pings | undefined

  const session = new Session(socket, {
    greeted: () => {
      clearTimeout(greeting)
      pings = new Pings({
        everyMs: pingEveryMs,
        send: payload => session.ping(payload),
        measured: milliseconds => {
          roundTripMs = milliseconds
          session.beat(silentBeats)
        },
        late: reason => session.destroy(reason),
      })
      up(link)
    },
    pong: payload => pings?.answered(payload),
    leaving: () => down(link),
    // what is on its streams now is sent elsewhere, and must not come back to it
    closed: reason => {
      clearTimeout(greeting)
      pings?.stop()
      if (reason !== undefined) logger.info({ cell: cellId, reason: reason.message }, 'link failed')
      down(link)
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
