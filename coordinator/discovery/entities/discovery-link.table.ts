import { integer, oneOf, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** Statement about two traces that follows from their times. */
export const discoveryLinkTable = defineTable('discovery_links', {
  columns: {
    a: text(),
    b: text(),
    kind: oneOf(['met', 'clash', 'rival']),
    distance_s: integer(),
    at: time(),
  },
  key: ['a', 'b'],
  indexes: {
    discovery_links_b: ['b'],
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    discovery_links: TableOf<typeof discoveryLinkTable>
  }
}
