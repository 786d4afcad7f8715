import type { Logger } from 'pino'
import { type Runtime, sleep } from '../../../shared/runtime.ts'
import { faultOf } from '../store/faults.ts'
import type { SealedTrx, Store } from '../store/store.ts'
import type { EventRow } from './event.table.ts'
import { isStored, type NewEvent } from './event-rows.ts'

interface EventWriterParts {
  store: Pick<Store, 'ledger'>
  /** Stores events in their order and returns the last of them. */
  insert: (trx: SealedTrx, rows: readonly NewEvent[]) => Promise<EventRow>
  /** Runs in a transaction that finds events stored of which that was not known. */
  onStored: (trx: SealedTrx) => void
  /** Creates the event that tells readers of dropped ones. */
  createGap: () => NewEvent
  logger: Pick<Logger, 'warn'>
  runtime: Pick<Runtime, 'setTimeout'>
  /** Wait before the store is tried again; 1 s. */
  retryMs?: number
}

interface FailedBatch {
  rows: readonly NewEvent[]
  /** Last of them as it is stored, if they were committed all the same. */
  last: EventRow | undefined
}

/** Events per transaction, so that none holds the sealed lane for long. */
const BATCH = 64
/** Events that wait for a store that cannot be written; beyond them the oldest are dropped. */
const MAX_PENDING = 10_000
const RETRY_MS = 1000
/** Events report what happened to the audit too, so they are written while it is in doubt. */
const EVEN_FROZEN = { evenFrozen: true }

/** Writes events in the order in which they were added, each once, as soon as the store takes them. */
export class EventWriter {
  readonly #parts: EventWriterParts
  readonly #closing = new AbortController()
  readonly #pending: NewEvent[] = []
  /** Events whose transaction failed, ahead of those that wait. */
  #failed: FailedBatch | undefined
  #dropped = 0
  #isFailing = false
  #writing: Promise<void> | undefined

  constructor(parts: EventWriterParts) {
    this.#parts = parts
  }

  add(row: NewEvent): void {
    this.#pending.push(row)
    if (this.#pending.length > MAX_PENDING) {
      this.#pending.shift()
      this.#dropped++
    }
    this.#writing ??= this.#write()
  }

  /** Writes what waits, unless the store fails. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#writing
  }

  async #write(): Promise<void> {
    while (this.#failed !== undefined || this.#pending.length > 0) {
      try {
        await this.#writeBatch()
        this.#isFailing = false
      } catch (error) {
        if (!this.#isFailing) this.#parts.logger.warn({ err: error }, 'events wait for the store')
        this.#isFailing = true
        if (this.#closing.signal.aborted) break
        await this.#pause()
      }
    }
    this.#writing = undefined
  }

  /** Writes the events that failed, unless they are stored, else the next ones that wait. */
  async #writeBatch(): Promise<void> {
    const { store, insert, onStored } = this.#parts
    const failed = this.#failed
    let rows: readonly NewEvent[] = []
    let last: EventRow | undefined
    try {
      await store.ledger.sealed.write(async trx => {
        if (failed?.last !== undefined && (await isStored(trx, failed.last))) return onStored(trx)
        rows = failed?.rows ?? this.#takeBatch()
        last = await insert(trx, rows)
      }, EVEN_FROZEN)
      this.#failed = undefined
    } catch (error) {
      const isUncertain = faultOf(error) === 'uncertain'
      if (rows.length > 0) this.#failed = { rows, last: isUncertain ? last : undefined }
      throw error
    }
  }

  /** The next events that wait, after one that tells every reader of those that were dropped. */
  #takeBatch(): NewEvent[] {
    const batch = this.#pending.splice(0, BATCH)
    if (this.#dropped === 0) return batch
    this.#parts.logger.warn({ events: this.#dropped }, 'events were dropped')
    this.#dropped = 0
    return [this.#parts.createGap(), ...batch]
  }

  async #pause(): Promise<void> {
    const { runtime, retryMs = RETRY_MS } = this.#parts
    const { signal } = this.#closing
    await sleep(runtime, retryMs, { signal, ref: false }).catch(() => {})
  }
}
