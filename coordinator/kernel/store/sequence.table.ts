import { integer, text } from './columns.ts'
import { defineTable, type RowOf, type TableOf } from './define-table.ts'

/** The last number that was given of one sequence. */
export const sequenceTable = defineTable('sequences', {
  columns: {
    name: text(),
    value: integer(),
  },
  key: ['name'],
})

export type SequenceRow = RowOf<typeof sequenceTable>

declare module './tables.ts' {
  interface LedgerTables {
    sequences: TableOf<typeof sequenceTable>
  }
}
