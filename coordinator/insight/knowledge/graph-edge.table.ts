import { integer, text } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

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

export type GraphEdgeRow = RowOf<typeof graphEdgeTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    graph_edges: TableOf<typeof graphEdgeTable>
  }
}
