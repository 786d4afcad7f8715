import * as z from 'zod'
import { json, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** Evidence that a session submitted for one round of its work. */
export const agentEvidenceTable = defineTable('agent_evidence', {
  columns: {
    id: text(),
    session_id: reference('agent_sessions'),
    at: time(),
    summary: text(),
    items_json: json(z.unknown()),
    /** The scopes that were held for it. */
    scopes_json: json(z.unknown()),
  },
  key: ['id'],
  indexes: {
    agent_evidence_session: ['session_id'],
  },
})

export type AgentEvidenceRow = RowOf<typeof agentEvidenceTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    agent_evidence: TableOf<typeof agentEvidenceTable>
  }
}
