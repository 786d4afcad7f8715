import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { type Runtime, stopTimer } from '../../../shared/runtime.ts'
import type { CellLink } from '../../fleet/cells/cell-link.ts'
import { LinkSession } from './link-session.ts'
import { Pings } from './pings.ts'

interface CellLinkOptions {
  cellId: string
  socket: Socket
  logger: Logger
  runtime: Pick<Runtime, 'nowMs' | 'setTimeout' | 'setInterval' | 'setImmediate'>
  /** Interval of pings, and the time after which a cell that has not answered one is late. */
  pingEveryMs: number
  /** Runs once the cell has sent its settings. */
  onUp: (link: CellLink) => void
  /** Runs when the link takes no more requests, perhaps again when it has closed. */
  onDown: (link: CellLink) => void
  /** Runs when the cell is late with the answer to a ping, and when it has answered after all. */
  onLate?: (link: CellLink, isLate: boolean) => void
}

/** Time within which a cell must send its settings. */
const GREETING_MS = 5000
/**
 * Unanswered intervals after which the cell is disconnected. A machine that is suspended for less
 * keeps its streams; new requests go elsewhere from the first interval on.
 */
const MAX_LATE_BEATS = 6

/**
 * Opens the link to one cell: an HTTP/2 session over the socket that the cell dialled, in which the
 * coordinator is the client. A cell that is late with the answer to a ping
 * gets no new requests, and one that does not answer at all is disconnected.
 */
export const openLink = (options: CellLinkOptions): CellLink => {
  const { cellId, socket, logger, runtime, pingEveryMs, onUp, onDown, onLate } = options
  let roundTripMs: number | undefined
  let isLate = false
  let pings: Pings | undefined

  const session = new LinkSession(socket, {
    onReady: () => {
      stopTimer(greeting)
      pings = new Pings({
        everyMs: pingEveryMs,
        runtime,
        send: payload => session.ping(payload),
        onMeasured: milliseconds => {
          roundTripMs = milliseconds
          setLate(false)
          session.beat(pingEveryMs, false)
        },
        onLate: silentMs => {
          if (silentMs >= MAX_LATE_BEATS * pingEveryMs)
            session.destroy(new Error(`no answer to a ping within ${silentMs} ms`))
          else {
            setLate(true)
            session.beat(pingEveryMs, true)
          }
        },
      })
      onUp(link)
    },
    onPong: payload => pings?.receiveAnswer(payload),
    onLeaving: () => onDown(link),
    // called before the streams close: their requests are retried and must not return to this link
    onClosed: reason => {
      stopTimer(greeting)
      pings?.stop()
      if (reason !== undefined) logger.info({ cell: cellId, reason: reason.message }, 'link failed')
      onDown(link)
    },
  })
  const greeting = runtime.setTimeout(() => session.destroy(), GREETING_MS)
  const setLate = (next: boolean): void => {
    if (isLate !== next) onLate?.(link, next)
    isLate = next
  }

  const link: CellLink = {
    cellId,
    get isOpen() {
      return session.isOpen
    },
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
