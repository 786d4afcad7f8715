import { text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** A visitor's request within the last hour, for the limit of an address. */
export const visitorRequestTable = defineTable('visitor_requests', {
  columns: {
    /** Id of the claim. */
    id: text(),
    address_digest: text(),
    at: time(),
  },
  key: ['id'],
  indexes: {
    visitor_requests_address: ['address_digest', 'at'],
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    visitor_requests: TableOf<typeof visitorRequestTable>
  }
}
