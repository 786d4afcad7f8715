import { integer, text } from './columns.ts'
import { defineTable, type TableOf } from './define-table.ts'

/** Grows with every change of the named subject, so that other processes drop what they cached. */
export const revisionTable = defineTable('revisions', {
  columns: {
    name: text(),
    value: integer(),
  },
  key: ['name'],
})

declare module './tables.ts' {
  interface LedgerTables {
    revisions: TableOf<typeof revisionTable>
  }
}
