import { flag, integer, text } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'

/** Learning settings of the graph of one tenant. */
export const graphLearningSettingsTable = defineTable('graph_learning_settings', {
  columns: {
    tenant_id: text(),
    enabled: flag(),
    /** Part of the room above the present strength that one activation with full strength adds. */
    rate_percent: integer(),
    /** Time in which a learned strength that is not used falls to one half. */
    half_life_hours: integer(),
  },
  key: ['tenant_id'],
})

export type LearningSettings = Omit<EntityOf<typeof graphLearningSettingsTable>, 'tenantId'>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    graph_learning_settings: TableOf<typeof graphLearningSettingsTable>
  }
}
