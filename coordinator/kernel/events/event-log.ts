import { AsyncLocalStorage } from 'node:async_hooks'
import type { Logger } from 'pino'
import type { Runtime } from '../../../shared/runtime.ts'
import { type ChangeFollower, followChanges } from '../base/follow-changes.ts'
import { afterCommit } from '../store/after-commit.ts'
import type { SealedTrx, Store } from '../store/store.ts'
import type { EventDraft, EventListener, Events } from './bus.ts'
import type { EventRow } from './event.table.ts'
import { EventRing } from './event-ring.ts'
import {
  eventOf,
  insertEvents,
  isSameEvent,
  type NewEvent,
  newEventOf,
  readEventsAfter,
  readNewestEvents,
} from './event-rows.ts'
import { EventWriter } from './event-writer.ts'
import { GAP_TYPE } from './topics.ts'

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
  runtime: Pick<Runtime, 'setTimeout'>
}

const READ_PAGE = 500
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
  /** Newest event that is in the ring. */
  #newest: EventRow | undefined
  readonly #writer: EventWriter

  private constructor(parts: EventLogParts, newest: readonly EventRow[]) {
    this.#parts = parts
    const last = newest.length === 0 ? 0 : (newest[0] as EventRow).seq - 1
    this.#ring = new EventRing({ ...parts, last })
    for (const row of newest) this.#ring.fill(row.seq, eventOf(row))
    this.#newest = newest.at(-1)
    this.#writer = new EventWriter({
      ...parts,
      insert: (trx, rows) => this.#insert(trx, rows),
      onStored: trx => afterCommit(trx, this.catchUp),
      createGap: () =>
        this.#rowOf({
          type: GAP_TYPE,
          data: { after: String(this.position()), reason: 'dropped' },
        }),
    })
    const { store, logger, runtime, retryMs } = parts
    this.#changes = followChanges({
      subscribe: listener => store.revisions.onChange('events', listener),
      read: () => this.#outsideCalls(() => this.#read()),
      onFailure: error => logger.warn({ err: error }, 'events could not be read'),
      runtime,
      retryMs,
    })
  }

  static async open(parts: EventLogParts): Promise<EventLog> {
    return new EventLog(parts, await readNewestEvents(parts.store.ledger.read, parts.kept))
  }

  publish = (type: string, data: unknown, subject?: string): void => {
    this.#outsideCalls(() => this.#writer.add(this.#rowOf({ type, data, subject })))
  }

  addWithin = async (trx: SealedTrx, drafts: readonly EventDraft[]): Promise<void> => {
    if (drafts.length > 0)
      await this.#insert(
        trx,
        drafts.map(draft => this.#rowOf(draft)),
      )
  }

  catchUp = (): Promise<void> => this.#changes.look()

  reload = async (): Promise<void> => {
    const { store, kept, logger } = this.#parts
    try {
      const rows = await readNewestEvents(store.ledger.read, kept)
      this.#ring.replace(rows.map(eventOf))
    } catch (error) {
      logger.warn({ err: error }, 'events could not be read again')
    }
  }

  subscribe = (types: string | ReadonlySet<string>, listener: EventListener): (() => void) =>
    this.#ring.subscribe(types, listener)
  onRewind = (listener: () => void): (() => void) => this.#ring.onRewind(listener)

  position = (): number => this.#ring.position()
  positionAfter = (id: string): number | undefined => this.#ring.positionAfter(id)
  read = (from: number): ReturnType<Events['read']> => this.#ring.read(from)

  /** Writes what waits, unless the store fails. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#writer.close()
    await this.#changes.close()
  }

  #rowOf(draft: EventDraft): NewEvent {
    const { source, now } = this.#parts
    return newEventOf(draft, source, now())
  }

  async #insert(trx: SealedTrx, rows: readonly NewEvent[]): Promise<EventRow> {
    afterCommit(trx, this.catchUp)
    return insertEvents(trx, rows)
  }

  async #read(): Promise<void> {
    const { read } = this.#parts.store.ledger
    for (let isBehind = true; isBehind; ) {
      // with the newest known one, which shows whether the store has lost events
      const rows = await readEventsAfter(read, this.position() - 1, READ_PAGE)
      const hasLost = this.#hasLost(rows[0])
      if (hasLost) await this.#rewind()
      else this.#append(rows)
      isBehind = hasLost || rows.length === READ_PAGE
    }
  }

  #append(rows: readonly EventRow[]): void {
    for (const row of rows) {
      if (row.seq <= this.position()) continue
      this.#newest = row
      this.#ring.append(row.seq, eventOf(row))
    }
  }

  /** True when the newest known event is not stored: its number is free again, or another's. */
  #hasLost(oldest: EventRow | undefined): boolean {
    if (this.#newest === undefined) return false
    if (oldest === undefined) return true
    return oldest.seq === this.#newest.seq && !isSameEvent(oldest, this.#newest)
  }

  async #rewind(): Promise<void> {
    const { store, kept, logger } = this.#parts
    const known = this.position()
    const stored = await readNewestEvents(store.ledger.read, kept)
    const to = this.#ring.rewind(stored.map(eventOf))
    this.#newest = stored.find(({ seq }) => seq === to)
    logger.warn({ from: known, to }, 'the store has lost events; their numbers are given again')
  }
}
