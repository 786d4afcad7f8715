import type { Logger } from 'pino'
import type { BufferedRow } from '../../fleet/series/series-buffer.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import type { Records } from '../../kernel/store/store.ts'
import { type DeviceSeriesKey, deviceSeriesTable } from './device-series.table.ts'
import { addToSpan, decodeSpans, encodeSpans, type Span, type Spans } from './series-spans.ts'

type SeriesRow = BufferedRow<Pick<DeviceSeriesKey, 'deviceId' | 'property'>, Span>

/**
 * Merges rows into the stored ones, in one transaction. A stored row that cannot be read is replaced:
 * all later ones would wait for it otherwise.
 */
export const addSeriesRows = (
  records: Records,
  rows: readonly SeriesRow[],
  logger: Pick<Logger, 'warn'>,
): Promise<void> =>
  // sealed because existing rows are read, merged and written back
  records.sealed.write(async trx => {
    for (const { key, resolutionSeconds, at, segment } of rows) {
      const stored = await trx
        .selectFrom('device_series')
        .select(['device_id', 'spans_json'])
        .where('device_id', '=', key.deviceId)
        .where('property', '=', key.property)
        .where('resolution_seconds', '=', resolutionSeconds)
        .where('at', '=', at)
        .executeTakeFirst()
      const spans: Spans =
        readEach(stored === undefined ? [] : [stored], spansOf, logger)[0] ?? new Map()
      for (const [start, span] of segment) addToSpan(spans, start, span)
      const values = deviceSeriesTable.write({
        ...key,
        resolutionSeconds,
        at,
        spans: encodeSpans(spans),
      })
      await trx
        .insertInto('device_series')
        .values(values)
        .onConflict(conflict =>
          conflict
            .columns(['device_id', 'property', 'resolution_seconds', 'at'])
            .doUpdateSet({ spans_json: values.spans_json }),
        )
        .execute()
    }
  })

/** Spans of the rows that begin at `from` or later. */
export const readSeriesRows = async (
  read: Records['read'],
  { deviceId, property, resolutionSeconds }: DeviceSeriesKey,
  from: number,
  logger: Pick<Logger, 'warn'>,
): Promise<Spans> => {
  const rows = await read
    .selectFrom('device_series')
    .select(['device_id', 'spans_json'])
    .where('device_id', '=', deviceId)
    .where('property', '=', property)
    .where('resolution_seconds', '=', resolutionSeconds)
    .where('at', '>=', from)
    .execute()
  return new Map(readEach(rows, spansOf, logger).flatMap(spans => [...spans]))
}

/** Deletes the rows of a resolution that begin before a time. */
export const deleteSeriesRows = (
  records: Records,
  resolutionSeconds: number,
  before: number,
): Promise<unknown> =>
  records.free.write(trx =>
    trx
      .deleteFrom('device_series')
      .where('resolution_seconds', '=', resolutionSeconds)
      .where('at', '<', before)
      .execute(),
  )

const spansOf = (row: { device_id: string; spans_json: string }): Spans =>
  decodeSpans(deviceSeriesTable.readSome(row).spans)
