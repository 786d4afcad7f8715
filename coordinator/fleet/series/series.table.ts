import * as z from 'zod'
import { integer, json, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** Values of one cell over a span of time; `coordinator/fleet/series/bucket.ts` knows the form. */
export const seriesTable = defineTable('series', {
  columns: {
    cell_id: text(),
    resolution_seconds: integer(),
    /** Beginning of the span. */
    at: time(),
    buckets_json: json(z.unknown()),
  },
  key: ['cell_id', 'resolution_seconds', 'at'],
  database: 'records',
})

export type SeriesRow = RowOf<typeof seriesTable>

declare module '../../kernel/store/tables.ts' {
  interface RecordTables {
    series: TableOf<typeof seriesTable>
  }
}
