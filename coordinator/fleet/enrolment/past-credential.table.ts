import { optional, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** A credential that a cell had before another took its place. */
export const pastCredentialTable = defineTable('past_credentials', {
  columns: {
    cell_id: reference('cells'),
    digest: text(),
    replaced_at: time(),
    /** Start of the daemon that used the next credential first; null where that is not known. */
    boot_id: optional(text()),
  },
  key: ['cell_id', 'digest'],
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    past_credentials: TableOf<typeof pastCredentialTable>
  }
}
