import type { Logger } from 'pino'
import type { Sample } from '../../../shared/wire/telemetry.ts'
import { splitList } from '../../kernel/base/split-list.ts'
import { faultOf } from '../../kernel/store/faults.ts'
import { type CellMetric, metricsOf } from '../cells/metrics.ts'
import {
  bucketOf,
  decodeSegment,
  mergeSegment,
  metricOf,
  overlaySegment,
  type Segment,
} from './bucket.ts'
import { CompactSegment } from './compact-segment.ts'
import { CLOCK_TOLERANCE_MS, LateGate, type LateSamples } from './late-samples.ts'
import { PendingRows } from './pending-rows.ts'
import { type Energy, PowerSums, sumEnergy } from './power-sums.ts'
import { floor, RESOLUTIONS, type ResolutionName } from './resolutions.ts'
import { SeriesPruner } from './series-pruner.ts'
import type { SegmentKey, SeriesStore } from './series-store.ts'

interface Point {
  /** Start of the span, Unix milliseconds. */
  at: number
  /** Null when no sample of the span had a value. */
  value: number | null
  samples: number
}

interface SeriesParts {
  store: SeriesStore
  logger: Pick<Logger, 'warn'>
  /**
   * True while this coordinator writes the live samples of a cell; the others keep theirs to be
   * read until its are written.
   */
  owns?: (cellId: string) => boolean
  /** Unix time, milliseconds. */
  now: () => number
  /** Rows that may wait for a disk that fails; beyond them the oldest are dropped. */
  maxPending?: number
}

interface Pending extends SegmentKey {
  segment: CompactSegment
  dueAt: number
}

/** Cells whose rows are read at once: those of a day are some MiB. */
const CELLS_PER_READ = 20
/** Rows written by one tick: 10,000 cells make about 210 a second. */
const ROWS_PER_TICK = 512
/** Rows of one transaction, so that none stops the event loop for long. */
const ROWS_PER_WRITE = 64
/** The owner of a cell has written a row that was due so long ago. */
const SHADOW_MS = 5000

/** Time series of all cells: kept in memory for a while, merged, and written in bounded batches. */
export class Series {
  readonly #store: SeriesStore
  readonly #logger: SeriesParts['logger']
  readonly #now: () => number
  readonly #maxPending: number
  readonly #owns: (cellId: string) => boolean
  readonly #pending = new PendingRows<Pending>()
  /** Rows that another coordinator writes. */
  readonly #shadows = new PendingRows<Pending>()
  readonly #late: LateGate
  #changedLate = new Map<string, number>()
  readonly #pruner: SeriesPruner
  #busy: Promise<void> = Promise.resolve()
  #isFailing = false

  constructor(parts: SeriesParts) {
    this.#store = parts.store
    this.#logger = parts.logger
    this.#now = parts.now
    this.#maxPending = parts.maxPending ?? 100_000
    this.#owns = parts.owns ?? (() => true)
    this.#pruner = new SeriesPruner(parts.store, this.#now)
    this.#late = new LateGate({ readUntil: parts.store.readLateUntil, now: this.#now })
  }

  /** Adds a sample that was taken just now. */
  addLive(cellId: string, sample: Sample, clockAheadMs: number): void {
    const rows = this.#owns(cellId) ? this.#pending : this.#shadows
    this.#add(rows, cellId, timeOf(sample, clockAheadMs), sample, false)
  }

  /**
   * Adds samples from a cell's spool, oldest first; samples that were counted before are skipped.
   */
  addLate(cellId: string, samples: Sample[], clockAheadMs: number): void {
    for (const late of this.#late.take({ cellId, samples, clockAheadMs })) this.#addCounted(late)
  }

  /**
   * Points of one metric, oldest first, without empty spans, including rows not written yet; those
   * before `since` (Unix milliseconds) are left out.
   */
  async points(
    cellId: string,
    metric: CellMetric,
    resolution: ResolutionName,
    since = 0,
  ): Promise<Point[]> {
    for await (const [, points] of this.pointsOfCells([cellId], [metric], resolution, since))
      return points.get(metric) ?? []
    return []
  }

  /**
   * Yields the points of several metrics, cell by cell. A read of the store brings the rows of some
   * cells, because a database on another machine is asked at most a few hundred times a second; each
   * row is decoded once.
   */
  async *pointsOfCells(
    cellIds: readonly string[],
    metrics: readonly CellMetric[],
    resolution: ResolutionName,
    since = 0,
  ): AsyncGenerator<[cellId: string, points: Map<CellMetric, Point[]>]> {
    const { seconds, keepSeconds, rowSeconds } = RESOLUTIONS[resolution]
    await this.#runInTurn(() => this.#readLate())
    const oldest = Math.max(since, this.#now() - keepSeconds * 1000)
    const from = floor(oldest, seconds)
    for (const part of splitList(cellIds, CELLS_PER_READ)) {
      // A row is in the store or in memory only while nothing is being written
      const segments = await this.#runInTurn(async () => {
        const rows = await this.#store.read(part, seconds, floor(from, rowSeconds))
        return [...rows].map(
          ([cellId, encoded]) => [cellId, this.#collect(cellId, seconds, encoded)] as const,
        )
      })
      for (const [cellId, whole] of segments)
        yield [cellId, new Map(metrics.map(metric => [metric, pointsOf(whole, metric, from)]))]
    }
  }

  /** The stored rows of a cell with those in memory. */
  #collect(cellId: string, seconds: number, encoded: readonly string[]): Segment {
    const whole: Segment = new Map()
    for (const text of encoded) mergeSegment(whole, decodeSegment(text))
    for (const row of this.#pending.rowsOf(cellId))
      if (row.resolutionSeconds === seconds) mergeSegment(whole, row.segment)
    for (const row of this.#shadows.rowsOf(cellId))
      if (row.resolutionSeconds === seconds) overlaySegment(whole, row.segment)
    return whole
  }

  /** Energy of the GPUs of all cells since a time, Unix milliseconds. */
  async energy(since: number): Promise<Energy> {
    await this.#runInTurn(() => this.#readLate())
    const { seconds } = RESOLUTIONS['1h']
    const from = floor(since, seconds)
    const memory = new PowerSums()
    for (const rows of [this.#pending, this.#shadows])
      for (const row of rows.values())
        if (row.resolutionSeconds === seconds) memory.add(row.segment)
    return sumEnergy(await this.#store.readPower(from), memory, from)
  }

  /** Writes rows that are due and prunes old ones, a bounded part each; call it each second. */
  tick(): Promise<void> {
    return this.#runInTurn(async () => {
      await this.#readLate()
      this.#dropExcess()
      this.#dropShadows()
      await this.#writeAll(dueRows(this.#pending.values(), this.#now()))
      await this.#pruner.tick()
    })
  }

  /** Writes all pending rows. */
  flush(): Promise<void> {
    return this.#runInTurn(async () => {
      await this.#readLate()
      await this.#writeAll([...this.#pending.values()])
    })
  }

  /** Counts late samples that have waited for the store. */
  async #readLate(): Promise<void> {
    try {
      for (const late of await this.#late.readWaiting()) this.#addCounted(late)
    } catch (error) {
      this.#logger.warn({ err: error }, 'late samples wait for the store')
    }
  }

  #addCounted({ cellId, samples, clockAheadMs }: LateSamples): void {
    for (const sample of samples) {
      this.#changedLate.set(cellId, sample.taken_at)
      this.#add(this.#pending, cellId, timeOf(sample, clockAheadMs), sample, true)
    }
  }

  #rowFor(
    rows: PendingRows<Pending>,
    { cellId, resolutionSeconds, at }: SegmentKey,
    dueAt: number,
  ): Pending {
    const known = rows.find(cellId, resolutionSeconds, at)
    const row = known ?? { cellId, resolutionSeconds, at, segment: new CompactSegment(), dueAt }
    if (known === undefined) rows.add(row)
    row.dueAt = Math.min(row.dueAt, dueAt)
    return row
  }

  /** Adds one sample to every resolution whose retention still covers it. */
  #add(
    rows: PendingRows<Pending>,
    cellId: string,
    at: number,
    sample: Sample,
    isLate: boolean,
  ): void {
    const one = bucketOf(metricsOf(sample))
    const now = this.#now()
    for (const { seconds, keepSeconds, rowSeconds, holdSeconds } of Object.values(RESOLUTIONS)) {
      if (at < now - keepSeconds * 1000 || at > now + CLOCK_TOLERANCE_MS) continue
      const key = { cellId, resolutionSeconds: seconds, at: floor(at, rowSeconds) }
      const { segment } = this.#rowFor(rows, key, isLate ? now : now + holdSeconds * 1000)
      segment.add(floor(at, seconds), one)
    }
  }

  /** Returns false when the disk did not accept the rows; they stay pending. */
  async #write(rows: Pending[]): Promise<boolean> {
    const late = this.#changedLate
    if (rows.length === 0 && late.size === 0) return true
    this.#changedLate = new Map()
    for (const row of rows) this.#pending.delete(row)
    try {
      await this.#store.add(
        rows.map(row => [row, row.segment]),
        late,
        this.#now() + CLOCK_TOLERANCE_MS,
      )
      this.#isFailing = false
    } catch (error) {
      if (!this.#isFailing)
        this.#logger.warn({ err: error }, 'series cannot be written; they stay in memory')
      this.#isFailing = true
      // it may have been committed: what is merged once more would count twice
      if (faultOf(error) !== 'uncertain') this.#putBack(rows)
      this.#changedLate = new Map([...late, ...this.#changedLate])
    }
    return !this.#isFailing
  }

  #putBack(rows: Pending[]): void {
    for (const row of rows) {
      const { segment } = this.#rowFor(this.#pending, row, row.dueAt)
      for (const [at, bucket] of row.segment) segment.add(at, bucket)
    }
  }

  async #writeAll(rows: Pending[]): Promise<void> {
    for (let goesOn = true; goesOn; )
      goesOn = (await this.#write(rows.splice(0, ROWS_PER_WRITE))) && rows.length > 0
  }

  #dropExcess(): void {
    const excess = this.#pending.size - this.#maxPending
    if (excess <= 0) return
    this.#logger.warn({ rows: excess }, 'series were dropped')
    for (const row of pickLongestDue([...this.#pending.values()], excess)) this.#pending.delete(row)
  }

  #dropShadows(): void {
    const before = this.#now() - SHADOW_MS
    for (const row of [...this.#shadows.values()]) if (row.dueAt < before) this.#shadows.delete(row)
  }

  #runInTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#busy.then(work)
    this.#busy = done.then(
      () => {},
      () => {},
    )
    return done
  }
}

/** Time of a sample by the coordinator's clock. */
const timeOf = ({ taken_at }: Sample, clockAheadMs: number): number =>
  Math.abs(clockAheadMs) > CLOCK_TOLERANCE_MS ? taken_at - clockAheadMs : taken_at

const dueRows = (pending: Iterable<Pending>, now: number): Pending[] => {
  const due: Pending[] = []
  for (const row of pending) if (row.dueAt <= now) due.push(row)
  return due.length > ROWS_PER_TICK ? pickLongestDue(due, ROWS_PER_TICK) : due
}

const pickLongestDue = (rows: Pending[], count: number): Pending[] =>
  rows.sort((a, b) => a.dueAt - b.dueAt).slice(0, count)

const pointsOf = (segment: Segment, metric: CellMetric, from: number): Point[] => {
  return [...segment]
    .filter(([at]) => at >= from)
    .sort(([a], [b]) => a - b)
    .map(([at, bucket]) => ({ at, samples: bucket.samples, value: metricOf(bucket, metric) }))
}
