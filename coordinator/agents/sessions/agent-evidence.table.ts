import * as z from 'zod'
import { json, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'

const EvidenceItem = z.object({
  /** Kind of the item, such as `test-report` or `commit`. */
  kind: z.string(),
  text: z.string().exactOptional(),
  uri: z.string().exactOptional(),
  /** SHA-256 of the item, hexadecimal. */
  sha256: z.string().exactOptional(),
})

/** Evidence that a session submitted for one round of its work. */
export const agentEvidenceTable = defineTable('agent_evidence', {
  columns: {
    id: text(),
    session_id: reference('agent_sessions'),
    at: time(),
    summary: text(),
    items_json: json(z.array(EvidenceItem)),
    /** The scopes that were held for it. */
    scopes_json: json(z.array(z.string())),
  },
  key: ['id'],
  indexes: {
    agent_evidence_session: ['session_id'],
  },
})

export type AgentEvidence = EntityOf<typeof agentEvidenceTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    agent_evidence: TableOf<typeof agentEvidenceTable>
  }
}
