import { optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'

export const tenantTable = defineTable('tenants', {
  columns: {
    id: text(),
    name: text(),
    created_at: time(),
    /** Time at which the tenant's keys were disabled; null while they are valid. */
    disabled_at: optional(time()),
  },
  key: ['id'],
})

export type Tenant = EntityOf<typeof tenantTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    tenants: TableOf<typeof tenantTable>
  }
}
