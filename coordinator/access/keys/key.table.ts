import * as z from 'zod'
import { TIER_NAMES } from '../../../shared/catalogue.ts'
import { KEY_KINDS, ROLES } from '../../kernel/declaration/key.ts'
import { flag, json, oneOf, optional, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'

export const keyTable = defineTable('keys', {
  columns: {
    id: text(),
    digest: text(),
    /** Digest of the secret from before the last rotation, while both are accepted. */
    previous_digest: optional(text()),
    tenant_id: reference('tenants'),
    /** Tenants beside `tenant_id` the key may act for. */
    further_tenants_json: json(z.array(z.string())),
    person_id: reference('persons'),
    tier: oneOf(TIER_NAMES),
    roles_json: json(z.array(z.enum(ROLES))),
    kind: oneOf(KEY_KINDS),
    label: text(),
    created_at: time(),
    expires_at: optional(time()),
    revoked_at: optional(time()),
    last_used_at: optional(time()),
    /** True for a key whose inference requests are refused for fields that nobody reads. */
    strict: optional(flag()),
  },
  key: ['id'],
  indexes: {
    keys_tenant: ['tenant_id'],
  },
})

/** A key with the digests of its secrets, as the store has it. */
export type StoredKey = EntityOf<typeof keyTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    keys: TableOf<typeof keyTable>
  }
}
