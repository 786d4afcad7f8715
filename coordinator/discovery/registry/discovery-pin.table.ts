import * as z from 'zod'
import { json, oneOf, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** A decision of an operator: about identity, or about values of one entity. */
export const discoveryPinTable = defineTable('discovery_pins', {
  columns: {
    id: text(),
    kind: oneOf(['together', 'apart', 'values']),
    /** Entity that it was made for. */
    entity_id: text(),
    body_json: json(z.unknown()),
    actor: text(),
    at: time(),
  },
  key: ['id'],
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    discovery_pins: TableOf<typeof discoveryPinTable>
  }
}
