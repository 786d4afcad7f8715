import * as z from 'zod'
import { json, optional, sealed, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** A call that came with an Idempotency-Key. */
export const idempotentCallTable = defineTable('idempotent_calls', {
  columns: {
    /** Owner of the Idempotency-Key; keys are unique per owner. */
    scope: text(),
    call_key: text(),
    /** Digest of the whole call. */
    fingerprint: text(),
    /** Attempt that holds the call. */
    claim: text(),
    /** `begun`; `changed` once something is on the disk because of it; `answered`. */
    state: text(),
    answer_sealed: optional(sealed()),
    /** Ids of what the call has created and a repetition finds again. */
    created_json: optional(json(z.array(z.string()))),
    lease_until: time(),
    created_at: time(),
  },
  key: ['scope', 'call_key'],
  indexes: {
    idempotent_calls_age: ['created_at'],
  },
})

export type IdempotentCallRow = RowOf<typeof idempotentCallTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    idempotent_calls: TableOf<typeof idempotentCallTable>
  }
}
