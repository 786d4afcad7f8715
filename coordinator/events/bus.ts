import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'

/** A CloudEvents 1.0 event in its JSON form (cloudevents/spec, json-format.md). */
export interface CloudEvent {
  specversion: '1.0'
  id: string
  /** `/shoal/<name of the coordinator>`. */
  source: string
  /** `shoal.cell.ready`: product, thing, what happened to it. */
  type: string
  /** Id of the thing. */
  subject?: string
  /** RFC 3339, UTC. */
  time: string
  data: unknown
}

type Listener = (event: CloudEvent) => void

export interface Events {
  publish(type: string, data: unknown, subject?: string): CloudEvent
  /** Listens to types that begin with a prefix (`shoal.cell.`), or to a set of whole types. */
  subscribe(types: string | ReadonlySet<string>, listener: Listener): () => void
  /**
   * The events after the one with this id, oldest first; undefined when it is no longer kept, so
   * that the reader knows that it missed some.
   */
  listSince(id: string): CloudEvent[] | undefined
  /** Number of events so far: the position from which a reader gets only new ones. */
  position(): number
  /** Position of the event with this id; undefined when it is no longer buffered. */
  positionAfter(id: string): number | undefined
  /** Events from a position on, oldest first; `missed` when some are no longer buffered. */
  read(from: number): { events: CloudEvent[]; missed: boolean }
}

interface EventsOptions {
  source: string
  logger: Pick<Logger, 'warn'>
  now?: () => number
  /** Events kept for readers that come back. */
  kept?: number
}

/** Events inside one process. A listener runs at once, so it must be quick; it may throw. */
export const createEvents = ({
  source,
  logger,
  now = Date.now,
  kept = 1000,
}: EventsOptions): Events => {
  const listeners = new Map<Listener, (type: string) => boolean>()
  const ring: CloudEvent[] = []
  let count = 0

  const deliver = (listener: Listener, event: CloudEvent): void => {
    try {
      listener(event)
    } catch (error) {
      logger.warn({ err: error, type: event.type }, 'an event listener failed')
    }
  }

  const publish = (type: string, data: unknown, subject?: string): CloudEvent => {
    const event: CloudEvent = {
      specversion: '1.0',
      id: randomUUID(),
      source,
      type,
      ...(subject === undefined ? {} : { subject }),
      time: new Date(now()).toISOString(),
      data,
    }
    ring.push(event)
    count++
    if (ring.length > kept) ring.shift()
    for (const [listener, isMatch] of [...listeners]) if (isMatch(type)) deliver(listener, event)
    return event
  }

  const subscribe = (types: string | ReadonlySet<string>, listener: Listener) => {
    const handler: Listener = event => listener(event)
    const isMatch = (type: string) =>
      typeof types === 'string' ? type.startsWith(types) : types.has(type)
    listeners.set(handler, isMatch)
    return () => void listeners.delete(handler)
  }

  const positionAfter = (id: string): number | undefined => {
    const index = ring.findLastIndex(event => event.id === id)
    return index === -1 ? undefined : count - ring.length + index + 1
  }

  const read: Events['read'] = from => {
    const first = count - ring.length
    return { events: ring.slice(Math.max(0, from - first)), missed: from < first }
  }

  const listSince = (id: string): CloudEvent[] | undefined => {
    const from = positionAfter(id)
    return from === undefined ? undefined : read(from).events
  }

  return { publish, subscribe, listSince, position: () => count, positionAfter, read }
}
