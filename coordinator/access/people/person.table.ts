import { optional, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

export const personTable = defineTable('persons', {
  columns: {
    id: text(),
    tenant_id: reference('tenants'),
    name: text(),
    created_at: time(),
    /** Time at which the person's keys were disabled; null while they are valid. */
    disabled_at: optional(time()),
  },
  key: ['id'],
  indexes: {
    persons_tenant: ['tenant_id'],
  },
})

export type PersonRow = RowOf<typeof personTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    persons: TableOf<typeof personTable>
  }
}
