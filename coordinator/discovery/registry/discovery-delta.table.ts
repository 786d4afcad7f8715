import * as z from 'zod'
import { integer, json, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** A change of the inventory; rows are only added, and deleted when they are old. */
export const discoveryDeltaTable = defineTable('discovery_deltas', {
  columns: {
    seq: integer(),
    at: time(),
    kind: text(),
    entity_id: text(),
    body_json: json(z.unknown()),
  },
  key: ['seq'],
  indexes: {
    discovery_deltas_entity_id: ['entity_id'],
    discovery_deltas_first: ['at', 'seq'],
    discovery_deltas_counts: ['kind', 'at'],
  },
})

export type DiscoveryDeltaRow = RowOf<typeof discoveryDeltaTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    discovery_deltas: TableOf<typeof discoveryDeltaTable>
  }
}
