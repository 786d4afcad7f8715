import type { Records } from '../../kernel/store/store.ts'
import type { RecordTables } from '../../kernel/store/tables.ts'
import { addToSpan, decodeSpans, encodeSpans, type Spans } from './series-spans.ts'

/** One row: the spans of one resolution that begin within a longer span of time. */
export interface SeriesRow {
  deviceId: string
  property: string
  resolutionSeconds: number
  /** Start of the row, unix milliseconds. */
  at: number
  spans: Spans
}

/** Merges rows into the stored ones, in one transaction. */
export const addSeriesRows = (records: Records, rows: readonly SeriesRow[]): Promise<void> =>
  // sealed because existing rows are read, merged and written back
  records.sealed.write(async trx => {
    for (const row of rows) {
      const { device_id, property, resolution_seconds, at } = columnsOf(row)
      const stored = await trx
        .selectFrom('device_series')
        .select('spans_json')
        .where('device_id', '=', device_id)
        .where('property', '=', property)
        .where('resolution_seconds', '=', resolution_seconds)
        .where('at', '=', at)
        .executeTakeFirst()
      const spans: Spans = stored === undefined ? new Map() : decodeSpans(stored.spans_json)
      for (const [start, span] of row.spans) addToSpan(spans, start, span)
      const values = { spans_json: encodeSpans(spans) }
      await trx
        .insertInto('device_series')
        .values({ ...columnsOf(row), ...values })
        .onConflict(conflict =>
          conflict
            .columns(['device_id', 'property', 'resolution_seconds', 'at'])
            .doUpdateSet(values),
        )
        .execute()
    }
  })

/** Spans of the rows that begin at `from` or later. */
export const readSeriesRows = async (
  read: Records['read'],
  { deviceId, property, resolutionSeconds }: Omit<SeriesRow, 'at' | 'spans'>,
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
  return new Map(rows.flatMap(row => [...decodeSpans(row.spans_json)]))
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

const columnsOf = (row: SeriesRow): Omit<RecordTables['device_series'], 'spans_json'> => ({
  device_id: row.deviceId,
  property: row.property,
  resolution_seconds: row.resolutionSeconds,
  at: row.at,
})
