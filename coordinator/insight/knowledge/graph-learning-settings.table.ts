import { flag, integer, text } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

export const graphLearningSettingsTable = defineTable('graph_learning_settings', {
  columns: {
    tenant_id: text(),
    enabled: flag(),
    rate_percent: integer(),
    half_life_hours: integer(),
  },
  key: ['tenant_id'],
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    graph_learning_settings: TableOf<typeof graphLearningSettingsTable>
  }
}
