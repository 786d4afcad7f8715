import { text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'

/** An imported layer. Times are unix milliseconds. */
export const graphLayerTable = defineTable('graph_layers', {
  columns: {
    tenant_id: text(),
    layer: text(),
    changed_at: time(),
    /** Actor of the last import. */
    changed_by: text(),
  },
  key: ['tenant_id', 'layer'],
})

export type GraphLayer = EntityOf<typeof graphLayerTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    graph_layers: TableOf<typeof graphLayerTable>
  }
}
