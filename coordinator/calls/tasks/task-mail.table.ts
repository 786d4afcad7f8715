import * as z from 'zod'
import { json, oneOf, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** Input to a task that its owner has not acted on yet; at most one of each kind. */
export const taskMailTable = defineTable('task_mail', {
  columns: {
    task_id: text(),
    kind: oneOf(['cancel', 'message', 'decision', 'resume']),
    tenant_id: text(),
    /** `key:…` or `coordinator`. */
    actor: text(),
    /** The message and what it asks for; null for the other kinds. */
    body_json: optional(json(z.unknown())),
    /** Unix time, milliseconds. */
    posted_at: time(),
  },
  key: ['task_id', 'kind'],
})

export type TaskMailRow = RowOf<typeof taskMailTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    task_mail: TableOf<typeof taskMailTable>
  }
}
