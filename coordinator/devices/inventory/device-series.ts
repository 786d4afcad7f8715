import type { Logger } from 'pino'
import { floor, RESOLUTIONS } from '../../fleet/series/resolutions.ts'
import { SeriesBuffer } from '../../fleet/series/series-buffer.ts'
import type { Records } from '../../kernel/store/store.ts'
import { addSeriesRows, readSeriesRows } from './series-rows.ts'
import { addToSpan, type Span, SpanSegment } from './series-spans.ts'

interface DeviceSeriesParts {
  records: Records
  /** Unix milliseconds. */
  now: () => number
  logger: Pick<Logger, 'warn'>
}

interface SeriesPoint {
  /** Start of the span, unix milliseconds. */
  at: number
  /** Mean of its samples. */
  value: number
  samples: number
}

/** Resolutions of cells except the finest, of which devices would have too many rows. */
export const DEVICE_RESOLUTIONS = { '1m': RESOLUTIONS['1m'], '1h': RESOLUTIONS['1h'] } as const
type SeriesResolution = keyof typeof DEVICE_RESOLUTIONS

/** Key of the series of a property. */
interface PropertyKey {
  deviceId: string
  property: string
}

/** Time series of the numbers that devices report: gathered in memory, and merged into rows. */
export class DeviceSeries {
  readonly #parts: DeviceSeriesParts
  readonly #pending: SeriesBuffer<PropertyKey, Span>

  constructor(parts: DeviceSeriesParts) {
    this.#parts = parts
    this.#pending = new SeriesBuffer<PropertyKey, Span>({
      nameOf: ({ deviceId, property }) => `${deviceId} ${property}`,
      createSegment: () => new SpanSegment(),
      store: async rows => {
        if (rows.length > 0) await addSeriesRows(parts.records, rows, parts.logger)
      },
      logger: parts.logger,
    })
  }

  /** Adds one sample, taken now. */
  add(deviceId: string, property: string, value: number): void {
    const now = this.#parts.now()
    const span = { samples: 1, mean: value }
    for (const resolution of Object.values(DEVICE_RESOLUTIONS)) {
      const dueAt = now + resolution.holdSeconds * 1000
      this.#pending.add({ deviceId, property }, resolution, now, span, dueAt)
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
    const spans = await this.#pending.runInTurn(async () => {
      const { records, logger } = this.#parts
      const since = floor(from, rowSeconds)
      const found = await readSeriesRows(records.read, key, since, logger)
      for (const { segment } of this.#pending.rowsOf({ deviceId, property }, seconds))
        for (const [at, span] of segment) addToSpan(found, at, span)
      return found
    })
    return [...spans]
      .filter(([at]) => at >= from)
      .sort(([a], [b]) => a - b)
      .map(([at, { samples, mean }]) => ({ at, samples, value: mean }))
  }

  /** Writes everything that was gathered; what the store refuses waits for the next call. */
  flush(): Promise<void> {
    return this.#pending.runInTurn(() => this.#pending.writeAll())
  }
}
