import * as z from 'zod'
import { json, oneOf, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** Vote of one person on one request. */
export const gateVoteTable = defineTable('gate_votes', {
  columns: {
    request_id: reference('gate_requests'),
    person_id: text(),
    decision: oneOf(['approve', 'reject']),
    key_id: text(),
    roles_json: json(z.array(z.string())),
    reason: text(),
    at: time(),
  },
  key: ['request_id', 'person_id', 'decision'],
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    gate_votes: TableOf<typeof gateVoteTable>
  }
}
