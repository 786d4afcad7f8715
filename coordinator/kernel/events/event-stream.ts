import type { ShoalError } from '../../../shared/errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import { SSE_KEEPALIVE, sseData, sseError } from '../../../shared/wire/sse.ts'
import type { CloudEvent, Events } from './bus.ts'
import { GAP_TYPE, type Hearer, isWanted, mayHear } from './topics.ts'

/** Destination of a stream: a response, or a test's substitute. */
export interface Outlet {
  /** False when nothing more should be written before `waitForDrain`. */
  write(text: string): boolean
  /** Resolves to false if the reader did not take the written data in time. */
  waitForDrain(): Promise<boolean>
  end(): void
}

interface StreamParts {
  events: Pick<Events, 'catchUp' | 'position' | 'positionAfter' | 'read' | 'subscribe' | 'onRewind'>
  outlet: Outlet
  /** Reader of the stream, checked for each event, since a key may lose its roles. */
  hearer: () => Hearer
  patterns: readonly string[]
  lastEventId: string | undefined
  /** Names this coordinator in events of the stream itself. */
  source: string
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'ids'>
  /** Runs when the reader was too slow. */
  cut?: () => void
}

export interface EventStream {
  /** Keeps the connection open, and tells the reader how far it is. */
  heartbeat(): void
  /** Ends the stream, with an error event where there is a reason that the reader must know. */
  close(reason?: ShoalError): void
}

const RETRY_MS = 2000

/**
 * Streams events from the ring that all readers share: a reader costs a position in it and no
 * memory of its own. The ids are the numbers of the events, so a reader resumes at any coordinator. A
 * reader that falls out of the ring, or stops reading, is disconnected; it
 * resumes with the id of the last event it has seen, and `shoal.events.gap` reports missed events.
 */
export const openEventStream = (parts: StreamParts): EventStream => {
  const { events, outlet, hearer, patterns, lastEventId } = parts
  let open = true
  let writing = false
  let at = events.position()
  let lastId: string | undefined
  let isRewound = false

  const close = (reason?: ShoalError): void => {
    if (!open) return
    open = false
    for (const stop of stops) stop()
    if (reason !== undefined) outlet.write(sseError(reason))
    outlet.end()
  }
  const cut = (): void => {
    if (!open) return
    parts.cut?.()
    close()
  }
  const put = async (text: string): Promise<void> => {
    if (!open || outlet.write(text) || (await outlet.waitForDrain())) return
    cut()
  }

  const isBehind = (): boolean => isRewound || at < events.position()
  const isForReader = (event: CloudEvent): boolean =>
    event.type === GAP_TYPE || (mayHear(event, hearer()) && isWanted(event.type, patterns))

  /** Reports lost events with the id of the last one that is left, from which a reader resumes. */
  const tellLoss = async (): Promise<void> => {
    isRewound = false
    const after = lastId ?? String(at)
    lastId = String(at)
    await put(`id: ${lastId}\n${sseData(gap(after, 'lost'))}`)
  }

  /** Writes events until none are left. */
  const pump = async (): Promise<void> => {
    while (open && isBehind()) {
      if (isRewound) await tellLoss()
      const { events: found, missed } = events.read(at)
      if (missed) return cut()
      at = events.position()
      for (const event of found) {
        lastId = event.id
        if (isForReader(event)) await put(frame(event))
        if (!open) return
      }
    }
  }
  const wake = (): void => {
    if (writing || !open) return
    writing = true
    pump()
      .catch(cut)
      .finally(() => {
        writing = false
        if (open && isBehind()) wake()
      })
  }
  const rewind = (): void => {
    at = Math.min(at, events.position())
    isRewound = true
    wake()
  }
  const stops = [events.subscribe('', wake), events.onRewind(rewind)]

  const gap = (after: string, reason: 'not_kept' | 'lost'): CloudEvent => ({
    specversion: '1.0',
    id: parts.runtime.ids.uuid(),
    source: parts.source,
    type: GAP_TYPE,
    time: new Date(parts.now()).toISOString(),
    data: { after, reason },
  })

  // a gap has no id in the stream: a reader resumes from the last real event
  const begin = async (): Promise<void> => {
    await put(`retry: ${RETRY_MS}\n\n`)
    if (lastEventId === undefined) return
    // another coordinator may have sent an event that this one has not read yet
    if (events.positionAfter(lastEventId) === undefined) await events.catchUp()
    const from = events.positionAfter(lastEventId)
    at = from ?? events.position() - events.read(0).events.length
    if (from === undefined) await put(sseData(gap(lastEventId, 'not_kept')))
  }
  writing = true
  begin()
    .catch(cut)
    .finally(() => {
      writing = false
      wake()
    })

  return {
    heartbeat: () => {
      if (open && !writing) outlet.write(lastId === undefined ? SSE_KEEPALIVE : `id: ${lastId}\n\n`)
    },
    close,
  }
}

/** Events are sent without a name, so that every client's default handler receives them. */
const frame = (event: CloudEvent): string => `id: ${event.id}\n${sseData(event)}`
