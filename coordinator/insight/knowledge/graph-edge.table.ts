import { integer, text } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** An edge of an imported layer. */
export const graphEdgeTable = defineTable('graph_edges', {
  columns: {
    tenant_id: text(),
    /** Source, relation and target, with blanks between. */
    edge_key: text(),
    layer: text(),
    source: text(),
    relation: text(),
    target: text(),
    /** Declared strength in parts per million, from 1 to 1,000,000. */
    weight_ppm: integer(),
  },
  key: ['tenant_id', 'edge_key'],
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    graph_edges: TableOf<typeof graphEdgeTable>
  }
}
