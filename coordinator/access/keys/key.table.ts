import * as z from 'zod'
import { flag, json, optional, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

export const keyTable = defineTable('keys', {
  columns: {
    id: text(),
    digest: text(),
    /** Digest of the secret from before the last rotation, while both are accepted. */
    previous_digest: optional(text()),
    tenant_id: reference('tenants'),
    /** Tenants beside `tenant_id` the key may act for. */
    further_tenants_json: json(z.unknown()),
    person_id: reference('persons'),
    tier: text(),
    roles_json: json(z.unknown()),
    kind: text(),
    label: text(),
    created_at: time(),
    expires_at: optional(time()),
    revoked_at: optional(time()),
    last_used_at: optional(time()),
    /** 1 for a key whose inference requests are refused for fields that nobody reads. */
    strict: optional(flag()),
  },
  key: ['id'],
  indexes: {
    keys_tenant: ['tenant_id'],
  },
})

export type KeyRow = RowOf<typeof keyTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    keys: TableOf<typeof keyTable>
  }
}
