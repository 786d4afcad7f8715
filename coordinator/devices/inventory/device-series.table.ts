import { integer, json, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'
import { StoredSpans } from './series-spans.ts'

/** Values of one property of a device over a span of time. */
export const deviceSeriesTable = defineTable('device_series', {
  columns: {
    device_id: text(),
    property: text(),
    resolution_seconds: integer(),
    /** Beginning of the span. */
    at: time(),
    spans_json: json(StoredSpans),
  },
  key: ['device_id', 'property', 'resolution_seconds', 'at'],
  indexes: {
    device_series_by_time: ['resolution_seconds', 'at'],
  },
  database: 'records',
})

/** Series of one property in one resolution. */
export type DeviceSeriesKey = Omit<EntityOf<typeof deviceSeriesTable>, 'at' | 'spans'>

declare module '../../kernel/store/tables.ts' {
  interface RecordTables {
    device_series: TableOf<typeof deviceSeriesTable>
  }
}
