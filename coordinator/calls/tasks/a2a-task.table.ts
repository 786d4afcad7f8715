import { optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** A task as @a2a-js/sdk 1.3 keeps it: `server/database/task/schema`. */
export const a2aTaskTable = defineTable('a2a_tasks', {
  columns: {
    /** The tenant's id. */
    tenant: text(),
    owner: text(),
    id: text(),
    context_id: text(),
    status_last_updated: time(),
    /** `TASK_STATE_…`. */
    status_state: optional(text()),
    status: optional(text()),
    artifacts: optional(text()),
    history: optional(text()),
    metadata: optional(text()),
    protocol_version: optional(text()),
  },
  key: ['tenant', 'owner', 'id'],
  indexes: {
    a2a_tasks_newest: ['tenant', 'owner', 'status_last_updated', 'id'],
    a2a_tasks_state: ['status_state', 'status_last_updated'],
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    a2a_tasks: TableOf<typeof a2aTaskTable>
  }
}
