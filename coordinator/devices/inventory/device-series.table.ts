import * as z from 'zod'
import { integer, json, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** Values of one property of a device over a span of time; see `coordinator/devices/inventory/series-spans.ts`. */
export const deviceSeriesTable = defineTable('device_series', {
  columns: {
    device_id: text(),
    property: text(),
    resolution_seconds: integer(),
    /** Beginning of the span. */
    at: time(),
    spans_json: json(z.unknown()),
  },
  key: ['device_id', 'property', 'resolution_seconds', 'at'],
  indexes: {
    device_series_by_time: ['resolution_seconds', 'at'],
  },
  database: 'records',
})

declare module '../../kernel/store/tables.ts' {
  interface RecordTables {
    device_series: TableOf<typeof deviceSeriesTable>
  }
}
