import { integer, text, time, withDefault } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** One row; it is missing where the tables of minutes were emptied. */
export const minuteBirthTable = defineTable('minute_birth', {
  columns: {
    id: integer(),
    /** Unix milliseconds by the clock of the store, when counts were last found lost. */
    at: time(),
    /** History of the database that the counts are in; empty before the first one was seen. */
    history: withDefault(text(), ''),
  },
  key: ['id'],
  isLive: true,
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    minute_birth: TableOf<typeof minuteBirthTable>
  }
}
