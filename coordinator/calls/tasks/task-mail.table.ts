import * as z from 'zod'
import { codedJson, oneOf, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'
import { Message } from './task.ts'

/** Call and key of a message to a task; the next turn executes the call. */
const RequestedRun = z.object({
  operationId: z.string().optional(),
  input: z.unknown(),
  cellId: z.string().optional(),
  audited: z.boolean(),
  keyId: z.string().optional(),
  requestId: z.string(),
})
export type RequestedRun = z.output<typeof RequestedRun>

/** Input to a task that its owner has not acted on yet; at most one of each kind. */
export const taskMailTable = defineTable('task_mail', {
  columns: {
    task_id: text(),
    kind: oneOf(['cancel', 'message', 'decision', 'resume']),
    tenant_id: text(),
    /** `key:…` or `coordinator`. */
    actor: text(),
    /** The message and what it asks for; null for the other kinds. */
    body_json: optional(codedJson(z.object({ message: Message, run: RequestedRun }))),
    /** Unix time, milliseconds. */
    posted_at: time(),
  },
  key: ['task_id', 'kind'],
})

export type TaskMail = EntityOf<typeof taskMailTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    task_mail: TableOf<typeof taskMailTable>
  }
}
