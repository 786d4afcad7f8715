import { text } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** A message of a key that was taken, and the task that it is part of. */
export const taskMessageTable = defineTable('task_messages', {
  columns: {
    key_id: text(),
    message_id: text(),
    task_id: text(),
    digest: text(),
  },
  key: ['key_id', 'message_id'],
  indexes: {
    task_messages_task: ['task_id'],
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    task_messages: TableOf<typeof taskMessageTable>
  }
}
