import type { Logger } from 'pino'
import type { Sample } from '../../../shared/wire/telemetry.ts'
import { splitList } from '../../kernel/base/split-list.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import { type CellMetric, metricsOf } from '../cells/metrics.ts'
import {
  type Bucket,
  bucketOf,
  mergeSegment,
  metricOf,
  overlaySegment,
  type Segment,
} from './bucket.ts'
import { CompactSegment } from './compact-segment.ts'
import { CLOCK_TOLERANCE_MS, LateGate, type LateSamples } from './late-samples.ts'
import { type Energy, PowerSums, sumEnergy } from './power-sums.ts'
import { floor, RESOLUTIONS, type ResolutionName } from './resolutions.ts'
import { seriesTable } from './series.table.ts'
import { type BufferedRow, SeriesBuffer } from './series-buffer.ts'
import { SeriesPruner } from './series-pruner.ts'
import type { SeriesStore } from './series-store.ts'

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

/** Cells whose rows are read at once: those of a day are some MiB. */
const CELLS_PER_READ = 20
/** The owner of a cell has written a row that was due so long ago. */
const SHADOW_MS = 5000

/** Time series of all cells: kept in memory for a while, merged, and written in bounded batches. */
export class Series {
  readonly #store: SeriesStore
  readonly #logger: SeriesParts['logger']
  readonly #now: () => number
  readonly #owns: (cellId: string) => boolean
  readonly #pending: SeriesBuffer<string, Bucket>
  /** Rows that another coordinator writes. */
  readonly #shadows: SeriesBuffer<string, Bucket>
  readonly #late: LateGate
  #changedLate = new Map<string, number>()
  readonly #pruner: SeriesPruner

  constructor(parts: SeriesParts) {
    this.#store = parts.store
    this.#logger = parts.logger
    this.#now = parts.now
    this.#owns = parts.owns ?? (() => true)
    const form = {
      nameOf: (cellId: string) => cellId,
      createSegment: () => new CompactSegment(),
      logger: parts.logger,
    }
    const bound = parts.maxPending === undefined ? {} : { maxRows: parts.maxPending }
    this.#pending = new SeriesBuffer({ ...form, ...bound, store: rows => this.#add(rows) })
    this.#shadows = new SeriesBuffer({ ...form, store: async () => {} })
    this.#pruner = new SeriesPruner(parts.store, this.#now)
    this.#late = new LateGate({ readUntil: parts.store.readLateUntil, now: this.#now })
  }

  /** Adds a sample that was taken just now. */
  addLive(cellId: string, sample: Sample, clockAheadMs: number): void {
    const rows = this.#owns(cellId) ? this.#pending : this.#shadows
    this.#count(rows, cellId, timeOf(sample, clockAheadMs), sample, false)
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
    await this.#pending.runInTurn(() => this.#readLate())
    const oldest = Math.max(since, this.#now() - keepSeconds * 1000)
    const from = floor(oldest, seconds)
    for (const part of splitList(cellIds, CELLS_PER_READ)) {
      // A row is in the store or in memory only while nothing is being written
      const segments = await this.#pending.runInTurn(async () => {
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
    const rows = encoded.map(text => ({ cell_id: cellId, buckets_json: text }))
    for (const { buckets } of readEach(rows, seriesTable.readSome, this.#logger))
      mergeSegment(whole, buckets)
    for (const { segment } of this.#pending.rowsOf(cellId, seconds)) mergeSegment(whole, segment)
    for (const { segment } of this.#shadows.rowsOf(cellId, seconds)) overlaySegment(whole, segment)
    return whole
  }

  /** Energy of the GPUs of all cells since a time, Unix milliseconds. */
  async energy(since: number): Promise<Energy> {
    await this.#pending.runInTurn(() => this.#readLate())
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
    return this.#pending.runInTurn(async () => {
      await this.#readLate()
      this.#shadows.dropDue(this.#now() - SHADOW_MS)
      await this.#pending.writeDue(this.#now())
      await this.#pruner.tick()
    })
  }

  /** Writes all pending rows. */
  flush(): Promise<void> {
    return this.#pending.runInTurn(async () => {
      await this.#readLate()
      await this.#pending.writeAll()
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
      this.#count(this.#pending, cellId, timeOf(sample, clockAheadMs), sample, true)
    }
  }

  /** Adds one sample to every resolution whose retention still covers it. */
  #count(
    rows: SeriesBuffer<string, Bucket>,
    cellId: string,
    at: number,
    sample: Sample,
    isLate: boolean,
  ): void {
    const one = bucketOf(metricsOf(sample))
    const now = this.#now()
    for (const resolution of Object.values(RESOLUTIONS)) {
      const { keepSeconds, holdSeconds } = resolution
      if (at < now - keepSeconds * 1000 || at > now + CLOCK_TOLERANCE_MS) continue
      rows.add(cellId, resolution, at, one, isLate ? now : now + holdSeconds * 1000)
    }
  }

  /** Stores rows, and which late samples were counted. */
  async #add(rows: readonly BufferedRow<string, Bucket>[]): Promise<void> {
    const late = this.#changedLate
    if (rows.length === 0 && late.size === 0) return
    this.#changedLate = new Map()
    try {
      await this.#store.add(
        rows.map(({ key, segment, ...row }) => [{ cellId: key, ...row }, segment]),
        late,
        this.#now() + CLOCK_TOLERANCE_MS,
      )
    } catch (error) {
      this.#changedLate = new Map([...late, ...this.#changedLate])
      throw error
    }
  }
}

/** Time of a sample by the coordinator's clock. */
const timeOf = ({ taken_at }: Sample, clockAheadMs: number): number =>
  Math.abs(clockAheadMs) > CLOCK_TOLERANCE_MS ? taken_at - clockAheadMs : taken_at

const pointsOf = (segment: Segment, metric: CellMetric, from: number): Point[] => {
  return [...segment]
    .filter(([at]) => at >= from)
    .sort(([a], [b]) => a - b)
    .map(([at, bucket]) => ({ at, samples: bucket.samples, value: metricOf(bucket, metric) }))
}
