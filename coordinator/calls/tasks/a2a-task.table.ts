import { coded, codedJson, filled, json, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'
import { Task } from './task.ts'
import { StoredTaskState } from './task-state.ts'

const { status, artifacts, history, metadata } = Task.shape

/** A task. The form of the rows is that of the store of A2A's library, which wrote the first ones. */
export const a2aTaskTable = defineTable('a2a_tasks', {
  columns: {
    /** The tenant's id. */
    tenant: text(),
    owner: text(),
    id: text(),
    context_id: text(),
    status_last_updated: time(),
    status_state: filled(coded(StoredTaskState)),
    status: filled(codedJson(status)),
    artifacts: optional(json(artifacts)),
    history: optional(codedJson(history)),
    metadata: optional(json(metadata.unwrap())),
    /** Version of the form of the row. */
    protocol_version: optional(text()),
  },
  key: ['tenant', 'owner', 'id'],
  indexes: {
    a2a_tasks_newest: ['tenant', 'owner', 'status_last_updated', 'id'],
    a2a_tasks_state: ['status_state', 'status_last_updated'],
  },
})

export type TaskRow = EntityOf<typeof a2aTaskTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    a2a_tasks: TableOf<typeof a2aTaskTable>
  }
}
