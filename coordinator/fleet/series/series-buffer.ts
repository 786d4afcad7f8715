import type { Logger } from 'pino'
import { faultOf } from '../../kernel/store/faults.ts'
import { floor, type Resolution } from './resolutions.ts'

/** Values of one row while it waits to be written, by the time at which their spans begin. */
export interface Segment<V> extends Iterable<[at: number, value: V]> {
  /** Adds a value, or merges it into the one of the same span. */
  add(at: number, value: V): void
}

interface RowPlace {
  resolutionSeconds: number
  /** Beginning of the row, Unix milliseconds. */
  at: number
}

/** One row: the values of one series and resolution that begin within a longer span of time. */
export interface BufferedRow<K, V> extends RowPlace {
  key: K
  segment: Segment<V>
  dueAt: number
}

interface BufferParts<K, V> {
  /** Names the series of a key. */
  nameOf: (key: K) => string
  createSegment: () => Segment<V>
  /** Merges rows into the stored ones in one transaction; may be called without rows. */
  store: (rows: readonly BufferedRow<K, V>[]) => Promise<void>
  logger: Pick<Logger, 'warn'>
  /** Rows that may wait for a disk that fails; beyond them the oldest are dropped. */
  maxRows?: number
}

const MAX_ROWS = 100_000
/** Rows that are due and written at once: 10,000 cells make about 210 a second. */
const ROWS_PER_TURN = 512
/** Rows of one transaction, so that none stops the event loop for long. */
const ROWS_PER_WRITE = 64

/** Rows of time series that wait to be written, in bounded batches. A series has few of them. */
export class SeriesBuffer<K, V> {
  readonly #parts: BufferParts<K, V>
  readonly #bySeries = new Map<string, BufferedRow<K, V>[]>()
  #size = 0
  #isFailing = false
  #busy: Promise<void> = Promise.resolve()

  constructor(parts: BufferParts<K, V>) {
    this.#parts = parts
  }

  /** Adds a value of one resolution, to be written at `dueAt`, Unix milliseconds. */
  add(key: K, { seconds, rowSeconds }: Resolution, at: number, value: V, dueAt: number): void {
    const place = { resolutionSeconds: seconds, at: floor(at, rowSeconds) }
    this.#rowFor(key, place, dueAt).segment.add(floor(at, seconds), value)
  }

  rowsOf(key: K, resolutionSeconds: number): BufferedRow<K, V>[] {
    const rows = this.#bySeries.get(this.#parts.nameOf(key)) ?? []
    return rows.filter(row => row.resolutionSeconds === resolutionSeconds)
  }

  *values(): Generator<BufferedRow<K, V>> {
    for (const rows of this.#bySeries.values()) yield* rows
  }

  /** Forgets the rows that were due before a time. */
  dropDue(before: number): void {
    for (const row of [...this.values()]) if (row.dueAt < before) this.#delete(row)
  }

  /** Writes the rows that are due, at most 512 of them. */
  async writeDue(now: number): Promise<void> {
    const due: BufferedRow<K, V>[] = []
    for (const row of this.values()) if (row.dueAt <= now) due.push(row)
    await this.#write(due.length > ROWS_PER_TURN ? pickLongestDue(due, ROWS_PER_TURN) : due)
    this.#dropExcess()
  }

  async writeAll(): Promise<void> {
    await this.#write([...this.values()])
    this.#dropExcess()
  }

  /** Runs one work at a time: a row is in the store or here only while nothing is being written. */
  runInTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#busy.then(work)
    this.#busy = done.then(
      () => {},
      () => {},
    )
    return done
  }

  #rowFor(key: K, { resolutionSeconds, at }: RowPlace, dueAt: number): BufferedRow<K, V> {
    const name = this.#parts.nameOf(key)
    const rows = this.#bySeries.get(name) ?? []
    // the newest is asked for most
    const known = rows.findLast(row => row.at === at && row.resolutionSeconds === resolutionSeconds)
    if (known !== undefined) {
      known.dueAt = Math.min(known.dueAt, dueAt)
      return known
    }
    const row = { key, resolutionSeconds, at, segment: this.#parts.createSegment(), dueAt }
    rows.push(row)
    this.#bySeries.set(name, rows)
    this.#size++
    return row
  }

  #delete(row: BufferedRow<K, V>): void {
    const name = this.#parts.nameOf(row.key)
    const rows = this.#bySeries.get(name) ?? []
    const index = rows.indexOf(row)
    if (index < 0) return
    rows.splice(index, 1)
    if (rows.length === 0) this.#bySeries.delete(name)
    this.#size--
  }

  async #write(rows: BufferedRow<K, V>[]): Promise<void> {
    for (let goesOn = true; goesOn; )
      goesOn = (await this.#writePart(rows.splice(0, ROWS_PER_WRITE))) && rows.length > 0
  }

  /** Returns false when the disk did not accept the rows; they stay here. */
  async #writePart(rows: readonly BufferedRow<K, V>[]): Promise<boolean> {
    for (const row of rows) this.#delete(row)
    try {
      await this.#parts.store(rows)
      if (rows.length > 0) this.#isFailing = false
      return true
    } catch (error) {
      if (!this.#isFailing)
        this.#parts.logger.warn({ err: error }, 'series cannot be written; they stay in memory')
      this.#isFailing = true
      // it may have been committed: what is merged once more would count twice
      if (faultOf(error) !== 'uncertain') this.#putBack(rows)
      return false
    }
  }

  #putBack(rows: readonly BufferedRow<K, V>[]): void {
    for (const row of rows) {
      const { segment } = this.#rowFor(row.key, row, row.dueAt)
      for (const [at, value] of row.segment) segment.add(at, value)
    }
  }

  /** Drops what the store did not take in this turn, beyond the bound. */
  #dropExcess(): void {
    const excess = this.#size - (this.#parts.maxRows ?? MAX_ROWS)
    if (excess <= 0) return
    this.#parts.logger.warn({ rows: excess }, 'series were dropped')
    for (const row of pickLongestDue([...this.values()], excess)) this.#delete(row)
  }
}

const pickLongestDue = <R extends { dueAt: number }>(rows: R[], count: number): R[] =>
  rows.sort((a, b) => a.dueAt - b.dueAt).slice(0, count)
