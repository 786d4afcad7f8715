import { text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** A module that saw an entity; `last_at` is that of the entity. */
export const discoveryEntitySourceTable = defineTable('discovery_entity_sources', {
  columns: {
    entity_id: text(),
    source: text(),
    last_at: time(),
  },
  key: ['entity_id', 'source'],
  indexes: {
    discovery_entity_sources_newest: ['source', 'last_at desc', 'entity_id'],
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    discovery_entity_sources: TableOf<typeof discoveryEntitySourceTable>
  }
}
