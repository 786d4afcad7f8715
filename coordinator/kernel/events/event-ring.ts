import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { CloudEvent, EventListener, Events } from './bus.ts'

interface RingParts {
  logger: Pick<Logger, 'warn'>
  /** Number of events that are kept. */
  kept: number
  /** Number of the newest event that is known already. */
  last?: number
}

/** The newest events in memory, which all readers share, and those who listen to new ones. */
export class EventRing
  implements Pick<Events, 'subscribe' | 'onRewind' | 'position' | 'positionAfter' | 'read'>
{
  readonly #parts: RingParts
  readonly #listeners = new Map<EventListener, (type: string) => boolean>()
  readonly #rewindListeners = new Set<() => void>()
  #events: CloudEvent[] = []
  #last: number

  constructor(parts: RingParts) {
    this.#parts = parts
    this.#last = parts.last ?? 0
  }

  /** Adds the event with this number and calls the listeners. Numbers must grow. */
  append(seq: number, event: CloudEvent): void {
    this.fill(seq, event)
    const { logger } = this.#parts
    for (const [listener, isMatch] of [...this.#listeners]) {
      if (!isMatch(event.type)) continue
      try {
        listener(event)
      } catch (error) {
        logger.warn({ err: error, type: event.type }, 'an event listener failed')
      }
    }
  }

  /** Adds an event of which nobody needs to hear. */
  fill(seq: number, event: CloudEvent): void {
    // events between were deleted before they were read
    if (seq !== this.#last + 1) this.#events = []
    this.#events.push(event)
    this.#last = seq
    if (this.#events.length > this.#parts.kept) this.#events.shift()
  }

  /** Puts events in place of those with the same number; the others stay. */
  replace(events: readonly CloudEvent[]): void {
    const byId = new Map(events.map(event => [event.id, event]))
    this.#events = this.#events.map(event => byId.get(event.id) ?? event)
  }

  subscribe = (types: string | ReadonlySet<string>, listener: EventListener): (() => void) => {
    const handler: EventListener = event => listener(event)
    const isMatch = (type: string) =>
      typeof types === 'string' ? type.startsWith(types) : types.has(type)
    this.#listeners.set(handler, isMatch)
    return () => void this.#listeners.delete(handler)
  }

  /**
   * Takes over the newest events of a store that has lost some, up to the last that both know, and
   * returns its number. When none is, they are all taken over as known.
   */
  rewind(stored: readonly CloudEvent[]): number {
    const known = new Map(this.#events.map(event => [event.id, event]))
    const last = stored.findLast(event => isDeepStrictEqual(known.get(event.id), event))
    this.#last = Number((last ?? stored.at(-1))?.id ?? 0)
    this.#events = stored.filter(({ id }) => Number(id) <= this.#last)
    for (const listener of [...this.#rewindListeners]) listener()
    return this.#last
  }

  onRewind = (listener: () => void): (() => void) => {
    const handler = () => listener()
    this.#rewindListeners.add(handler)
    return () => void this.#rewindListeners.delete(handler)
  }

  position = (): number => this.#last

  positionAfter = (id: string): number | undefined => {
    const seq = NUMBER.test(id) ? Number(id) : -1
    return seq >= this.#first() - 1 && seq <= this.#last ? seq : undefined
  }

  read = (from: number): { events: CloudEvent[]; missed: boolean } => {
    const skipped = from - this.#first() + 1
    return { events: this.#events.slice(Math.max(0, skipped)), missed: skipped < 0 }
  }

  #first(): number {
    return this.#last - this.#events.length + 1
  }
}

const NUMBER = /^\d{1,15}$/
