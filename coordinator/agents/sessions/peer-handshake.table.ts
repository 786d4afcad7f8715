import { reference, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'

/** One side has named the other. */
export const peerHandshakeTable = defineTable('peer_handshakes', {
  columns: {
    peer_id: reference('operator_peers'),
    other_id: reference('operator_peers'),
    at: time(),
  },
  key: ['peer_id', 'other_id'],
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    peer_handshakes: TableOf<typeof peerHandshakeTable>
  }
}
