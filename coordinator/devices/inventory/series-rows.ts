import type { Records } from '../../kernel/store/store.ts'
import { type DeviceSeriesKey, deviceSeriesTable } from './device-series.table.ts'
import { addToSpan, decodeSpans, encodeSpans, type Spans } from './series-spans.ts'

/** One row: the spans of one resolution that begin within a longer span of time. */
export interface SeriesRow extends DeviceSeriesKey {
  /** Start of the row, unix milliseconds. */
  at: number
  spans: Spans
}

/** Merges rows into the stored ones, in one transaction. */
export const addSeriesRows = (records: Records, rows: readonly SeriesRow[]): Promise<void> =>
  // sealed because existing rows are read, merged and written back
  records.sealed.write(async trx => {
    for (const row of rows) {
      const stored = await trx
        .selectFrom('device_series')
        .select('spans_json')
        .where('device_id', '=', row.deviceId)
        .where('property', '=', row.property)
        .where('resolution_seconds', '=', row.resolutionSeconds)
        .where('at', '=', row.at)
        .executeTakeFirst()
      const spans: Spans = stored === undefined ? new Map() : spansOf(stored)
      for (const [start, span] of row.spans) addToSpan(spans, start, span)
      const values = deviceSeriesTable.write({ ...row, spans: encodeSpans(spans) })
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
): Promise<Spans> => {
  const rows = await read
    .selectFrom('device_series')
    .select('spans_json')
    .where('device_id', '=', deviceId)
    .where('property', '=', property)
    .where('resolution_seconds', '=', resolutionSeconds)
    .where('at', '>=', from)
    .execute()
  return new Map(rows.flatMap(row => [...spansOf(row)]))
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

const spansOf = ({ spans_json }: { spans_json: string }): Spans =>
  decodeSpans(deviceSeriesTable.columns.spans_json.read(spans_json))
