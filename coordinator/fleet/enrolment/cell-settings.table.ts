import * as z from 'zod'
import { flag, json, optional, reference, time, withDefault } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'

/** Settings of a cell made by operators; no row before the first one. */
export const cellSettingsTable = defineTable('cell_settings', {
  columns: {
    cell_id: reference('cells'),
    /** Time since which the cell gets no new requests; null while it does. */
    drained_at: optional(time()),
    labels_json: json(z.record(z.string(), z.string())),
    /** Tenant that the cell is dedicated to; null for a shared cell. */
    tenant_id: optional(reference('tenants')),
    /** True when the tenant's requests go to no other cells. */
    exclusive: withDefault(flag(), 0),
  },
  key: ['cell_id'],
})

export type StoredSettings = EntityOf<typeof cellSettingsTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    cell_settings: TableOf<typeof cellSettingsTable>
  }
}
