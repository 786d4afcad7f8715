import type { Logger } from 'pino'
import type { Sample } from '../../shared/wire/telemetry.ts'
import { bucketOf, mergeSegment, metricOf, type Segment } from './bucket.ts'
import { CompactSegment } from './compact-segment.ts'
import { type Metric, metricsOf } from './metrics.ts'
import { PendingRows } from './pending-rows.ts'
import type { SegmentKey, SeriesStore } from './series-store.ts'

export interface Resolution {
  seconds: number
  keepSeconds: number
  /** Span of one row: what lies within it is read and written together. */
  rowSeconds: number
  /** How long values stay in memory before they are written: what a crash may cost. */
  holdSeconds: number
}

const HOUR = 3600
const DAY = 24 * HOUR

export const RESOLUTIONS = {
  '10s': { seconds: 10, keepSeconds: HOUR, rowSeconds: 60, holdSeconds: 60 },
  '1m': { seconds: 60, keepSeconds: DAY, rowSeconds: 600, holdSeconds: 300 },
  '1h': { seconds: HOUR, keepSeconds: 366 * DAY, rowSeconds: 6 * HOUR, holdSeconds: 1800 },
} as const satisfies Record<string, Resolution>

export type ResolutionName = keyof typeof RESOLUTIONS

export interface Point {
  /** Beginning of the span, unix milliseconds. */
  at: number
  /** Null when the samples of the span did not know it. */
  value: number | null
  samples: number
}

/** What the fleet's cells were like over time. */
export interface Series {
  /** A sample that was taken just now. */
  live(cellId: string, sample: Sample, clockAheadMs: number): void
  /** Samples from a cell's spool, oldest first; one that came before is not counted again. */
  late(cellId: string, samples: Sample[], clockAheadMs: number): void
  /** Oldest first, without the spans of which nothing is known; what is not written yet too. */
  points(cellId: string, metric: Metric, resolution: ResolutionName): Promise<Point[]>
  /** Writes what is due and forgets what is old, a bounded part of it; call it each second. */
  tick(): Promise<void>
  /** Writes everything. */
  flush(): Promise<void>
}

export interface SeriesParts {
  store: SeriesStore
  logger: Pick<Logger, 'warn'>
  /** Unix time, milliseconds. */
  now?: () => number
  /** Rows that may wait for a disk that fails; beyond them the oldest are dropped. */
  maxPending?: number
}

interface Pending extends SegmentKey {
  segment: CompactSegment
  dueAt: number
}

/** Rows written by one tick: 10,000 cells make about 210 a second. */
const ROWS_PER_TICK = 512
/** Rows of one transaction, so that none stops the event loop for long. */
const ROWS_PER_WRITE = 64
const CELLS_PRUNED_PER_TICK = 4
/** A clock this far off is corrected for; below it, it may as well be the way of the message. */
const CLOCK_TOLERANCE_MS = 2000

export const createSeries = async (parts: SeriesParts): Promise<Series> => {
  const { store, logger, now = Date.now, maxPending = 100_000 } = parts
  const pending = new PendingRows<Pending>()
  /** When the newest late sample was taken that counts, by its cell's clock. */
  const lateUntil = await store.lateUntil()
  let changedLate = new Map<string, number>()
  let pruneAfter = ''
  let busy: Promise<void> = Promise.resolve()
  let failing = false

  const rowFor = ({ cellId, resolutionSeconds, at }: SegmentKey, dueAt: number): Pending => {
    const known = pending.find(cellId, resolutionSeconds, at)
    const row = known ?? { cellId, resolutionSeconds, at, segment: new CompactSegment(), dueAt }
    if (known === undefined) pending.add(row)
    row.dueAt = Math.min(row.dueAt, dueAt)
    return row
  }

  /** Adds one sample to every resolution whose time still holds it. */
  const add = (cellId: string, at: number, sample: Sample, late: boolean) => {
    const one = bucketOf(metricsOf(sample))
    for (const { seconds, keepSeconds, rowSeconds, holdSeconds } of Object.values(RESOLUTIONS)) {
      if (at < now() - keepSeconds * 1000 || at > now() + CLOCK_TOLERANCE_MS) continue
      const key = { cellId, resolutionSeconds: seconds, at: floor(at, rowSeconds) }
      const { segment } = rowFor(key, late ? now() : now() + holdSeconds * 1000)
      segment.add(floor(at, seconds), one)
    }
  }

  const live: Series['live'] = (cellId, sample, clockAheadMs) =>
    add(cellId, atOf(sample, clockAheadMs), sample, false)

  /** A time in the future is from when the cell's clock was wrong, and says nothing once it is right. */
  const countedUntil = (cellId: string, clockAheadMs: number): number => {
    const until = lateUntil.get(cellId) ?? -1
    const isRight = Math.abs(clockAheadMs) <= CLOCK_TOLERANCE_MS
    return isRight && until > now() + CLOCK_TOLERANCE_MS ? -1 : until
  }

  const late: Series['late'] = (cellId, samples, clockAheadMs) => {
    for (const sample of samples) {
      if (sample.taken_at <= countedUntil(cellId, clockAheadMs)) continue
      lateUntil.set(cellId, sample.taken_at)
      changedLate.set(cellId, sample.taken_at)
      add(cellId, atOf(sample, clockAheadMs), sample, true)
    }
  }

  const points: Series['points'] = async (cellId, metric, resolution) => {
    const { seconds, keepSeconds, rowSeconds } = RESOLUTIONS[resolution]
    await busy
    const from = floor(now() - keepSeconds * 1000, seconds)
    const whole: Segment = new Map()
    for (const segment of await store.read(cellId, seconds, floor(from, rowSeconds)))
      mergeSegment(whole, segment)
    for (const row of pending.ofCell(cellId))
      if (row.resolutionSeconds === seconds) mergeSegment(whole, row.segment)
    return pointsOf(whole, metric, from)
  }

  /** False when the disk did not take them; they wait on. */
  const write = async (rows: Pending[]): Promise<boolean> => {
    const late = changedLate
    if (rows.length === 0 && late.size === 0) return true
    changedLate = new Map()
    for (const row of rows) pending.delete(row)
    try {
      await store.add(
        rows.map(row => [row, row.segment]),
        late,
      )
      failing = false
    } catch (error) {
      if (!failing) logger.warn({ err: error }, 'series cannot be written; they wait in memory')
      failing = true
      for (const row of rows) {
        const { segment } = rowFor(row, row.dueAt)
        for (const [at, bucket] of row.segment) segment.add(at, bucket)
      }
      changedLate = new Map([...late, ...changedLate])
    }
    return !failing
  }

  const writeAll = async (rows: Pending[]): Promise<void> => {
    for (let goesOn = true; goesOn; )
      goesOn = (await write(rows.splice(0, ROWS_PER_WRITE))) && rows.length > 0
  }

  const dropExcess = (): void => {
    const excess = pending.size - maxPending
    if (excess <= 0) return
    logger.warn({ rows: excess }, 'series were dropped')
    for (const row of longestDue([...pending.values()], excess)) pending.delete(row)
  }

  const inTurn = (work: () => Promise<void>): Promise<void> => {
    busy = busy.then(work)
    return busy
  }

  const tick: Series['tick'] = () =>
    inTurn(async () => {
      dropExcess()
      await writeAll(dueRows(pending.values(), now()))
      pruneAfter = (await prune()) ?? ''
    })

  const prune = (): Promise<string | undefined> => {
    const limits = Object.values(RESOLUTIONS).map(({ seconds, keepSeconds, rowSeconds }) => ({
      resolutionSeconds: seconds,
      before: now() - (keepSeconds + rowSeconds) * 1000,
    }))
    return store.prune(pruneAfter, CELLS_PRUNED_PER_TICK, limits).catch(() => pruneAfter)
  }

  const flush: Series['flush'] = () => inTurn(() => writeAll([...pending.values()]))

  return { live, late, points, tick, flush }
}

const floor = (at: number, seconds: number): number => at - (at % (seconds * 1000))

/** When a sample was taken, by our clock. */
const atOf = ({ taken_at }: Sample, clockAheadMs: number): number =>
  Math.abs(clockAheadMs) > CLOCK_TOLERANCE_MS ? taken_at - clockAheadMs : taken_at

const dueRows = (pending: Iterable<Pending>, now: number): Pending[] => {
  const due: Pending[] = []
  for (const row of pending) if (row.dueAt <= now) due.push(row)
  return due.length > ROWS_PER_TICK ? longestDue(due, ROWS_PER_TICK) : due
}

const longestDue = (rows: Pending[], count: number): Pending[] =>
  rows.sort((a, b) => a.dueAt - b.dueAt).slice(0, count)

const pointsOf = (segment: Segment, metric: Metric, from: number): Point[] => {
  return [...segment]
    .filter(([at]) => at >= from)
    .sort(([a], [b]) => a - b)
    .map(([at, bucket]) => ({ at, samples: bucket.samples, value: metricOf(bucket, metric) }))
}
