import * as z from 'zod'
import { json, optional, reference, text, time } from '../../kernel/store/columns.ts'
import { defineTable, type RowOf, type TableOf } from '../../kernel/store/define-table.ts'

/** One docking of an agent; `coordinator/agents/sessions/session.ts` says what its columns mean. */
export const agentSessionTable = defineTable('agent_sessions', {
  columns: {
    id: text(),
    tenant_id: reference('tenants'),
    person_id: text(),
    key_id: text(),
    /** Kind of the key that docked. */
    kind: text(),
    agent_id: text(),
    agent_type: text(),
    roles_json: json(z.unknown()),
    variant: text(),
    profile_id: optional(text()),
    supervisor_id: optional(text()),
    step: text(),
    /** The check that waits for the supervisor. */
    waiting_json: optional(json(z.unknown())),
    last_skill: optional(text()),
    docked_at: time(),
    seen_at: time(),
    /** Time at which the session ends unless it is active before then. */
    idle_at: time(),
    /** Latest time at which the session ends. */
    expires_at: time(),
    ended_at: optional(time()),
    outcome: optional(text()),
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
