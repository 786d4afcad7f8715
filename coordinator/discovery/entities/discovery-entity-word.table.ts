import { text } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** A word by which people find an entity, in lower case. */
export const discoveryEntityWordTable = defineTable('discovery_entity_words', {
  columns: {
    entity_id: text(),
    word: text(),
  },
  key: ['entity_id', 'word'],
  indexes: {
    discovery_entity_words_word: ['word', 'entity_id'],
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    discovery_entity_words: TableOf<typeof discoveryEntityWordTable>
  }
}
