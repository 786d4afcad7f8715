import { oneOf, optional, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type TableOf } from '../../kernel/store/define-table.ts'
import { TASK_STATES } from './session.ts'

/** A scope that a session holds; the row goes when it is free again. */
export const agentClaimTable = defineTable('agent_claims', {
  columns: {
    tenant_id: text(),
    scope: text(),
    session_id: reference('agent_sessions'),
    task_id: optional(text()),
    /** State of the task; null until it is reported. */
    task_state: optional(oneOf(TASK_STATES)),
    claimed_at: time(),
  },
  key: ['tenant_id', 'scope'],
  indexes: {
    agent_claims_session: ['session_id'],
  },
})

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    agent_claims: TableOf<typeof agentClaimTable>
  }
}
