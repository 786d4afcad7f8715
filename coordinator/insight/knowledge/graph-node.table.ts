import * as z from 'zod'
import { json, text } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** Value of an attribute of a node. */
export const Attribute = z.union([z.string(), z.number(), z.boolean(), z.null()])
export type Attribute = z.infer<typeof Attribute>

/** A node of an imported layer. */
export const graphNodeTable = defineTable('graph_nodes', {
  columns: {
    tenant_id: text(),
    /** Kind and name: `cell:cell_01…`, `model:model-a:7b`. Contains no white space. */
    id: text(),
    /** Live layer or imported layer that it belongs to. */
    layer: text(),
    kind: text(),
    name: text(),
    /** Further text that a search finds it by. */
    text: text(),
    attributes_json: json(z.record(z.string(), Attribute).readonly()),
  },
  key: ['tenant_id', 'id'],
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    graph_nodes: TableOf<typeof graphNodeTable>
  }
}
