import { integer, text, time } from './columns.ts'
import { defineTable, type TableOf } from './define-table.ts'

/** Tenure of a name; the row stays when it ends, because its epoch must only grow. */
export const leaseTable = defineTable('leases', {
  columns: {
    name: text(),
    owner: text(),
    epoch: integer(),
    /** Unix milliseconds by the clock of the store; 0 after a release. */
    until: time(),
  },
  key: ['name'],
  isLive: true,
})

declare module './tables.ts' {
  interface LedgerTables {
    leases: TableOf<typeof leaseTable>
  }
}
