import type { Logger } from 'pino'
import { RESOLUTIONS } from '../../fleet/series/resolutions.ts'
import { faultOf } from '../../kernel/store/faults.ts'
import type { Records } from '../../kernel/store/store.ts'
import { addSeriesRows, readSeriesRows, type SeriesRow } from './series-rows.ts'
import { addToSpan, type Spans } from './series-spans.ts'

interface DeviceSeriesParts {
  records: Records
  /** Unix milliseconds. */
  now: () => number
  logger: Pick<Logger, 'warn'>
}

export interface SeriesPoint {
  /** Start of the span, unix milliseconds. */
  at: number
  /** Mean of its samples. */
  value: number
  samples: number
}

/** Resolutions of cells except the finest, of which devices would have too many rows. */
export const DEVICE_RESOLUTIONS = { '1m': RESOLUTIONS['1m'], '1h': RESOLUTIONS['1h'] } as const
export type SeriesResolution = keyof typeof DEVICE_RESOLUTIONS

/** Rows that may wait for a disk that fails; beyond them new ones are dropped. */
const MAX_PENDING = 100_000
/** Rows of one transaction, so that none holds the lane for long. */
const ROWS_PER_WRITE = 64

/** Time series of the numbers that devices report: gathered in memory, and merged into rows. */
export class DeviceSeries {
  readonly #parts: DeviceSeriesParts
  readonly #pending = new Map<string, SeriesRow>()

  constructor(parts: DeviceSeriesParts) {
    this.#parts = parts
  }

  /** Adds one sample, taken now. */
  add(deviceId: string, property: string, value: number): void {
    const now = this.#parts.now()
    for (const { seconds, rowSeconds } of Object.values(DEVICE_RESOLUTIONS)) {
      const at = floor(now, rowSeconds)
      const row = this.#rowFor({ deviceId, property, resolutionSeconds: seconds, at })
      if (row !== undefined) addToSpan(row.spans, floor(now, seconds), { samples: 1, mean: value })
    }
  }

  /** Points of one property, oldest first, without spans that have no sample. */
  async points(
    deviceId: string,
    property: string,
    resolution: SeriesResolution,
  ): Promise<SeriesPoint[]> {
    const { seconds, keepSeconds, rowSeconds } = DEVICE_RESOLUTIONS[resolution]
    const from = floor(this.#parts.now() - keepSeconds * 1000, seconds)
    const key = { deviceId, property, resolutionSeconds: seconds }
    const spans = await readSeriesRows(this.#parts.records.read, key, floor(from, rowSeconds))
    for (const row of this.#pending.values())
      if (
        row.deviceId === deviceId &&
        row.property === property &&
        row.resolutionSeconds === seconds
      )
        for (const [at, span] of row.spans) addToSpan(spans, at, span)
    return [...spans]
      .filter(([at]) => at >= from)
      .sort(([a], [b]) => a - b)
      .map(([at, { samples, mean }]) => ({ at, samples, value: mean }))
  }

  /** Writes everything that was gathered; what the store refuses waits for the next call. */
  async flush(): Promise<void> {
    const rows = [...this.#pending.values()]
    this.#pending.clear()
    for (let at = 0; at < rows.length; at += ROWS_PER_WRITE) {
      try {
        await addSeriesRows(this.#parts.records, rows.slice(at, at + ROWS_PER_WRITE))
      } catch (error) {
        this.#parts.logger.warn({ err: error }, 'series of devices wait for the store')
        // rows that may be stored would count twice
        this.#putBack(rows.slice(faultOf(error) === 'uncertain' ? at + ROWS_PER_WRITE : at))
        return
      }
    }
  }

  #putBack(rows: readonly SeriesRow[]): void {
    for (const row of rows) {
      const spans: Spans | undefined = this.#rowFor(row)?.spans
      if (spans !== undefined) for (const [at, span] of row.spans) addToSpan(spans, at, span)
    }
  }

  #rowFor({ deviceId, property, resolutionSeconds, at }: Omit<SeriesRow, 'spans'>) {
    const key = `${deviceId} ${property} ${resolutionSeconds} ${at}`
    const known = this.#pending.get(key)
    if (known !== undefined || this.#pending.size >= MAX_PENDING) return known
    const row: SeriesRow = { deviceId, property, resolutionSeconds, at, spans: new Map() }
    this.#pending.set(key, row)
    return row
  }
}

const floor = (at: number, seconds: number): number => at - (at % (seconds * 1000))
