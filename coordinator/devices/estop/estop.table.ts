import { flag, optional, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** An e-stop, in force until it is released. Times are unix milliseconds. */
export const estopTable = defineTable('estops', {
  columns: {
    id: text(),
    scope: text(),
    target: optional(text()),
    /** The only cell that it is for, such as the one on which it was engaged; null for others. */
    cell_id: optional(text()),
    /** 1 for a stop that was engaged on the machine of a cell; else 0. */
    is_local: flag(),
    engaged_at: time(),
    engaged_by: text(),
    reason: text(),
    released_at: optional(time()),
    released_by: optional(text()),
    release_reason: optional(text()),
  },
  key: ['id'],
  indexes: {
    estops_released: ['released_at'],
  },
})

export type EstopRow = RowOf<typeof estopTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    estops: TableOf<typeof estopTable>
  }
}
