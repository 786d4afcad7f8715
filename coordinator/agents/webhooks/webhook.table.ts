import * as z from 'zod'
import {
  integer,
  json,
  optional,
  reference,
  sealed,
  text,
  time,
  withDefault,
} from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** An address that events of a tenant are sent to. */
export const webhookTable = defineTable('webhooks', {
  columns: {
    id: text(),
    tenant_id: reference('tenants'),
    url: text(),
    /** Types and families; all when empty. */
    types_json: json(z.array(z.string())),
    label: text(),
    /** Current secret, encrypted (see `coordinator/kernel/signing/sealing.ts`). */
    secret_sealed: sealed(),
    /** Secret from before the last rotation, sealed; both secrets sign until `previous_until`. */
    previous_sealed: optional(sealed()),
    previous_until: optional(time()),
    disabled_at: optional(time()),
    disabled_reason: optional(text()),
    /** Deliveries that were given up since the last one that arrived. */
    dead_in_row: integer(),
    /** Number of the newest event when the webhook was created or enabled; it gets later ones. */
    after_seq: withDefault(integer(), 0),
    /** Time of the last delivered event. */
    delivered_at: optional(time()),
    /** Unix milliseconds since which more events wait for it than it takes; null for others. */
    slowed_at: optional(time()),
    created_by: text(),
    created_at: time(),
    changed_at: time(),
  },
  key: ['id'],
  indexes: {
    webhooks_tenant: ['tenant_id', 'id'],
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    webhooks: TableOf<typeof webhookTable>
  }
}
