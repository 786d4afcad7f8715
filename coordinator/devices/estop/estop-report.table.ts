import * as z from 'zod'
import { integer, json, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** Newest report of a cell about its latched stops. */
export const estopReportTable = defineTable('estop_reports', {
  columns: {
    cell_id: text(),
    /** Version of the newest document that the cell has applied. */
    version: integer(),
    latched_json: json(z.unknown()),
    failed_json: json(z.unknown()),
    /** Unix milliseconds by the clock of the coordinator that received it. */
    reported_at: time(),
  },
  key: ['cell_id'],
})

export type EstopReportRow = RowOf<typeof estopReportTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    estop_reports: TableOf<typeof estopReportTable>
  }
}
