import * as z from 'zod'
import { coded, integer, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'
import { type Buckets, decodeSegment, encodeSegment } from './bucket.ts'

/** Buckets in the text that `bucket.ts` writes. */
const BucketsText = z.codec(z.string(), z.custom<Buckets>(), {
  decode: decodeSegment,
  encode: encodeSegment,
})

/** Values of one cell over a span of time. */
export const seriesTable = defineTable('series', {
  columns: {
    cell_id: text(),
    resolution_seconds: integer(),
    /** Beginning of the span, unix milliseconds. */
    at: time(),
    buckets_json: coded(BucketsText),
  },
  key: ['cell_id', 'resolution_seconds', 'at'],
  database: 'records',
})

/** One row without its buckets: those of one resolution that begin within a span of time. */
export type SegmentKey = Omit<EntityOf<typeof seriesTable>, 'buckets'>

declare module '../../kernel/store/tables.ts' {
  interface RecordTables {
    series: TableOf<typeof seriesTable>
  }
}
