import { integer, optional, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** Totals of the rows of one hour, written in the same transactions as the rows. */
export const usageHourTable = defineTable('usage_hours', {
  columns: {
    /** Beginning of the hour, UTC. */
    hour_at: time(),
    /** Number of rows that are requests of their own. */
    requests: integer(),
    /** Prompt and completion tokens of all rows. */
    tokens: integer(),
    /** Sum of the checksums of the rows; null when some of the rows were purged, or are older than it. */
    checksum: optional(integer()),
  },
  key: ['hour_at'],
  database: 'records',
})

declare module '../../kernel/store/tables.ts' {
  interface RecordTables {
    usage_hours: TableOf<typeof usageHourTable>
  }
}
