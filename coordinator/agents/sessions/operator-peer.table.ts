import { integer, optional, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'

/** Person who holds an operator role for a limited time. */
export const operatorPeerTable = defineTable('operator_peers', {
  columns: {
    /** Identifies this claim; a claim after it has ended gets another id. */
    id: text(),
    tenant_id: reference('tenants'),
    role: text(),
    person_id: text(),
    key_id: text(),
    agent_id: text(),
    terminal_label: optional(text()),
    /** Number that grows with every new holder of the role, which identifies older holders. */
    fence: integer(),
    claimed_at: time(),
    expires_at: time(),
    ended_at: optional(time()),
  },
  key: ['id'],
  unique: [['tenant_id', 'role', 'fence']],
})

export type Peer = EntityOf<typeof operatorPeerTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    operator_peers: TableOf<typeof operatorPeerTable>
  }
}
