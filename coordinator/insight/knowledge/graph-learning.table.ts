import { integer, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

export const graphLearningTable = defineTable('graph_learning', {
  columns: {
    tenant_id: text(),
    edge_key: text(),
    /** Learned strength at the time `at` in parts per million, up to 1,000,000; it decays from then. */
    strength_ppm: integer(),
    at: time(),
  },
  key: ['tenant_id', 'edge_key'],
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    graph_learning: TableOf<typeof graphLearningTable>
  }
}
