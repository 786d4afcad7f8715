import * as z from 'zod'
import { json, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

export const storedResponseTable = defineTable('stored_responses', {
  columns: {
    id: text(),
    key_id: text(),
    tenant_id: text(),
    created_at: time(),
    expires_at: time(),
    /** Items of the whole conversation up to the response. */
    input_json: json(z.unknown()),
    /** The response as the client got it. */
    response_json: json(z.unknown()),
  },
  key: ['id'],
  indexes: {
    stored_responses_key: ['key_id', 'created_at'],
    stored_responses_end: ['expires_at'],
  },
})

export type StoredResponseRow = RowOf<typeof storedResponseTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    stored_responses: TableOf<typeof storedResponseTable>
  }
}
