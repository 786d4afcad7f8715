import { oneOf, text } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'
import { PRESENCES } from './presence.ts'

/** Presence of a cell as one coordinator sees it. */
export const cellViewTable = defineTable('cell_views', {
  columns: {
    cell_id: text(),
    replica_id: text(),
    presence: oneOf(PRESENCES),
  },
  key: ['cell_id', 'replica_id'],
  isLive: true,
})

export type CellView = EntityOf<typeof cellViewTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    cell_views: TableOf<typeof cellViewTable>
  }
}
