import { AsyncLocalStorage } from 'node:async_hooks'
import { setTimeout } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type ChangeFollower, followChanges } from '../base/follow-changes.ts'
import { afterCommit } from '../store/after-commit.ts'
import type { EventRow } from '../store/event-tables.ts'
import type { SealedTrx, Store } from '../store/store.ts'
import type { EventDraft, EventListener, Events } from './bus.ts'
import { EventRing } from './event-ring.ts'
import { eventOf, insertEvents, readEventsAfter, readNewestEvents } from './event-rows.ts'

interface EventLogParts {
  store: Pick<Store, 'ledger' | 'revisions'>
  /** Source of the events of this process. */
  source: string
  /** Events kept in memory for readers that come back. */
  kept: number
  logger: Pick<Logger, 'warn'>
  /** Unix time, milliseconds. */
  now: () => number
  /** Wait before the store is tried again; 1 s. */
  retryMs?: number
}

/** Events per transaction, so that none holds the sealed lane for long. */
const BATCH = 64
const READ_PAGE = 500
/** Events that wait for a store that cannot be written; beyond them the oldest are dropped. */
const MAX_PENDING = 10_000
const RETRY_MS = 1000
/** Events report what happened to the audit too, so they are written while it is in doubt. */
const EVEN_FROZEN = { evenFrozen: true }

type PendingEvent = Omit<EventRow, 'seq'>

/**
 * The events in the store, which numbers them in the order of commits. Each process reads them by
 * number, its own as those of others: after its own commits at once, and when the revision changes.
 */
export class EventLog implements Events {
  readonly #parts: EventLogParts
  readonly #ring: EventRing
  readonly #closing = new AbortController()
  readonly #changes: ChangeFollower
  /** A write serves many callers, so it belongs to no single call. */
  readonly #outsideCalls = AsyncLocalStorage.snapshot()
  readonly #pending: PendingEvent[] = []
  #dropped = 0
  #isFailing = false
  #writing: Promise<void> | undefined

  private constructor(parts: EventLogParts, newest: readonly EventRow[]) {
    this.#parts = parts
    const last = newest.length === 0 ? 0 : (newest[0] as EventRow).seq - 1
    this.#ring = new EventRing({ ...parts, last })
    for (const row of newest) this.#ring.fill(row.seq, eventOf(row))
    const { store, logger, retryMs } = parts
    this.#changes = followChanges({
      subscribe: listener => store.revisions.onChange('events', listener),
      read: () => this.#outsideCalls(() => this.#read()),
      onFailure: error => logger.warn({ err: error }, 'events could not be read'),
      retryMs,
    })
  }

  static async open(parts: EventLogParts): Promise<EventLog> {
    return new EventLog(parts, await readNewestEvents(parts.store.ledger.read, parts.kept))
  }

  publish = (type: string, data: unknown, subject?: string): void => {
    this.#pending.push(this.#rowOf({ type, data, subject }))
    if (this.#pending.length > MAX_PENDING) {
      this.#pending.shift()
      this.#dropped++
    }
    this.#writing ??= this.#outsideCalls(() => this.#write())
  }

  addWithin = async (trx: SealedTrx, drafts: readonly EventDraft[]): Promise<void> => {
    if (drafts.length > 0)
      await this.#insert(
        trx,
        drafts.map(draft => this.#rowOf(draft)),
      )
  }

  catchUp = (): Promise<void> => this.#changes.look()

  subscribe = (types: string | ReadonlySet<string>, listener: EventListener): (() => void) =>
    this.#ring.subscribe(types, listener)

  position = (): number => this.#ring.position()
  positionAfter = (id: string): number | undefined => this.#ring.positionAfter(id)
  read = (from: number): ReturnType<Events['read']> => this.#ring.read(from)

  /** Writes what waits, unless the store fails. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#writing
    await this.#changes.close()
  }

  #rowOf({ type, data, subject = null }: EventDraft): PendingEvent {
    const { source, now } = this.#parts
    const data_json = JSON.stringify(data) ?? 'null'
    return { type, source, subject, at: now(), data_json }
  }

  async #insert(trx: SealedTrx, rows: readonly PendingEvent[]): Promise<void> {
    await insertEvents(trx, rows)
    afterCommit(trx, this.catchUp)
  }

  async #write(): Promise<void> {
    const { store, logger } = this.#parts
    while (this.#pending.length > 0) {
      let batch: PendingEvent[] = []
      try {
        await store.ledger.sealed.write(trx => {
          batch = this.#pending.splice(0, BATCH)
          return this.#insert(trx, batch)
        }, EVEN_FROZEN)
        if (this.#dropped > 0) logger.warn({ events: this.#dropped }, 'events were dropped')
        this.#dropped = 0
        this.#isFailing = false
      } catch (error) {
        this.#pending.unshift(...batch)
        if (!this.#isFailing) logger.warn({ err: error }, 'events wait for the store')
        this.#isFailing = true
        if (this.#closing.signal.aborted) break
        await this.#pause()
      }
    }
    this.#writing = undefined
  }

  async #pause(): Promise<void> {
    const { retryMs = RETRY_MS } = this.#parts
    const { signal } = this.#closing
    await setTimeout(retryMs, undefined, { signal, ref: false }).catch(() => {})
  }

  async #read(): Promise<void> {
    const { read } = this.#parts.store.ledger
    let found = READ_PAGE
    while (found === READ_PAGE) {
      const rows = await readEventsAfter(read, this.position(), READ_PAGE)
      for (const row of rows) this.#ring.append(row.seq, eventOf(row))
      found = rows.length
    }
  }
}
