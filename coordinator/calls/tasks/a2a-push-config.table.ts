import { filled, json, optional, text } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'
import { StoredWebhook } from './task-webhook.ts'

/** Push configuration of a task: the address for its events, with secrets sealed. */
export const a2aPushConfigTable = defineTable('a2a_push_configs', {
  columns: {
    tenant: text(),
    owner: text(),
    task_id: text(),
    config_id: text(),
    config_data: filled(json(StoredWebhook)),
    /** Version of the form of `config_data`. */
    protocol_version: optional(text()),
    /** Key that created the configuration: events contain no more than this key may see. */
    key_id: optional(text()),
  },
  key: ['tenant', 'owner', 'task_id', 'config_id'],
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    a2a_push_configs: TableOf<typeof a2aPushConfigTable>
  }
}
