import { integer, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** Totals of one hour of usage that the records, which are another database, must hold. */
export const usageAnchorTable = defineTable('usage_anchors', {
  columns: {
    /** Beginning of the hour, UTC. */
    hour_at: time(),
    requests: integer(),
    tokens: integer(),
  },
  key: ['hour_at'],
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    usage_anchors: TableOf<typeof usageAnchorTable>
  }
}
