import * as z from 'zod'
import { LatchedStop } from '../../../shared/wire/estop.ts'
import { integer, json, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** Newest report of a cell about its latched stops. */
export const estopReportTable = defineTable('estop_reports', {
  columns: {
    cell_id: text(),
    /** Version of the newest document that the cell has applied. */
    version: integer(),
    /** Ids of the stops that the cell has latched. */
    latched_json: json(z.array(z.string())),
    /** Devices that did not confirm that they are at rest. */
    failed_json: json(LatchedStop.shape.failed),
    /** Unix milliseconds by the clock of the coordinator that received it. */
    reported_at: time(),
  },
  key: ['cell_id'],
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    estop_reports: TableOf<typeof estopReportTable>
  }
}
