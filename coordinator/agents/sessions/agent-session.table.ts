import * as z from 'zod'
import { KEY_KINDS } from '../../kernel/declaration/key.ts'
import { json, oneOf, optional, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'
import { AGENT_TYPES, OUTCOMES, STEPS, VARIANTS, WaitingCheck } from './session.ts'

/** One docking of an agent. */
export const agentSessionTable = defineTable('agent_sessions', {
  columns: {
    id: text(),
    tenant_id: reference('tenants'),
    /** Owner: any key of this person may continue the session. */
    person_id: text(),
    key_id: text(),
    /** Kind of the key that docked. */
    kind: oneOf(KEY_KINDS),
    /** Labels of the agent; they grant no rights. */
    agent_id: text(),
    agent_type: oneOf(AGENT_TYPES),
    roles_json: json(z.array(z.string())),
    variant: oneOf(VARIANTS),
    profile_id: optional(text()),
    supervisor_id: optional(text()),
    /** The last step that was made. */
    step: oneOf(STEPS),
    /** The check that waits for the supervisor. */
    waiting_json: optional(json(WaitingCheck)),
    last_skill: optional(text()),
    docked_at: time(),
    seen_at: time(),
    /** Time at which the session ends unless it is active before then. */
    idle_at: time(),
    /** Latest time at which the session ends. */
    expires_at: time(),
    ended_at: optional(time()),
    outcome: optional(oneOf(OUTCOMES)),
  },
  key: ['id'],
  indexes: {
    agent_sessions_tenant: ['tenant_id', 'id'],
    agent_sessions_live: ['ended_at', 'tenant_id', 'agent_id'],
  },
})

export type AgentSessionRow = RowOf<typeof agentSessionTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    agent_sessions: TableOf<typeof agentSessionTable>
  }
}
