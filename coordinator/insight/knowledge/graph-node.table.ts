import * as z from 'zod'
import { json, text } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

export const graphNodeTable = defineTable('graph_nodes', {
  columns: {
    tenant_id: text(),
    id: text(),
    layer: text(),
    kind: text(),
    name: text(),
    text: text(),
    attributes_json: json(z.unknown()),
  },
  key: ['tenant_id', 'id'],
})

export type GraphNodeRow = RowOf<typeof graphNodeTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    graph_nodes: TableOf<typeof graphNodeTable>
  }
}
