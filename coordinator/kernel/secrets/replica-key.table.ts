import * as z from 'zod'
import { json, text } from '../store/columns.ts'
import { defineTable, type TableOf } from '../store/define-table.ts'

/** Ids of the keys in `sealing.key` of one coordinator, as a list. */
export const replicaKeyTable = defineTable('replica_keys', {
  columns: {
    replica_id: text(),
    key_ids_json: json(z.array(z.string())),
  },
  key: ['replica_id'],
  isLive: true,
})

declare module '../store/tables.ts' {
  interface LedgerTables {
    replica_keys: TableOf<typeof replicaKeyTable>
  }
}
