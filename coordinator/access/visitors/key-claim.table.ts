import { reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** Claim of a visitor who requested a key; the holder of the claim token can reveal the key. */
export const keyClaimTable = defineTable('key_claims', {
  columns: {
    id: text(),
    digest: text(),
    /** The visitor's name at the gates. */
    requester_id: text(),
    tenant_id: reference('tenants'),
    created_at: time(),
    expires_at: time(),
  },
  key: ['id'],
  indexes: {
    key_claims_end: ['expires_at'],
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    key_claims: TableOf<typeof keyClaimTable>
  }
}
