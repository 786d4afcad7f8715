import { oneOf, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'
import { PRESENCES } from './presence.ts'

/** Presence of a cell over all coordinators, as the last event reported it. */
export const cellPresenceTable = defineTable('cell_presence', {
  columns: {
    cell_id: text(),
    presence: oneOf(PRESENCES),
    told_at: time(),
  },
  key: ['cell_id'],
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    cell_presence: TableOf<typeof cellPresenceTable>
  }
}
