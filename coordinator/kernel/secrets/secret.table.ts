import { integer, sealed, text, time } from '../store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../store/define-table.ts'

/** A secret that all coordinators share, encrypted with a key of `sealing.key`. */
export const secretTable = defineTable('secrets', {
  columns: {
    name: text(),
    /** Id of the key that opens it. */
    key_id: text(),
    sealed: sealed(),
    /** Grows with every change of the secret itself. */
    version: integer(),
    changed_at: time(),
  },
  key: ['name'],
})

export type StoredSecret = EntityOf<typeof secretTable>

declare module '../store/tables.ts' {
  interface LedgerTables {
    secrets: TableOf<typeof secretTable>
  }
}
