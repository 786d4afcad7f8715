import * as z from 'zod'
import { json, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** Fields of a response that the coordinator relies on. */
const GivenResponse = z.looseObject({
  id: z.string(),
  output: z.array(z.looseObject({ type: z.string() })),
})

export const storedResponseTable = defineTable('stored_responses', {
  columns: {
    id: text(),
    key_id: text(),
    tenant_id: text(),
    created_at: time(),
    expires_at: time(),
    /** Items of the whole conversation up to the response. */
    input_json: json(z.array(z.record(z.string(), z.unknown()))),
    /** The response as the client got it, from a cell of any version. */
    response_json: json(GivenResponse),
  },
  key: ['id'],
  indexes: {
    stored_responses_key: ['key_id', 'created_at'],
    stored_responses_end: ['expires_at'],
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    stored_responses: TableOf<typeof storedResponseTable>
  }
}
