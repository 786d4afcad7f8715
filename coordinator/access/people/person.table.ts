import { optional, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'

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

/** Somebody who can be held to account. */
export type Person = EntityOf<typeof personTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    persons: TableOf<typeof personTable>
  }
}
