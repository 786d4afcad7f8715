export interface AgentTables {
  agent_sessions: AgentSessionRow
  agent_claims: AgentClaimRow
  agent_evidence: AgentEvidenceRow
  operator_peers: OperatorPeerRow
  peer_handshakes: PeerHandshakeRow
}

/** One docking of an agent; `coordinator/agents/sessions/session.ts` says what its columns mean. */
export interface AgentSessionRow {
  id: string
  tenant_id: string
  person_id: string
  key_id: string
  /** Kind of the key that docked. */
  kind: string
  agent_id: string
  agent_type: string
  roles_json: string
  variant: string
  profile_id: string | null
  supervisor_id: string | null
  step: string
  /** The check that waits for the supervisor. */
  waiting_json: string | null
  last_skill: string | null
  docked_at: number
  seen_at: number
  /** Time at which the session ends unless it is active before then. */
  idle_at: number
  /** Latest time at which the session ends. */
  expires_at: number
  ended_at: number | null
  outcome: string | null
}

/** A scope that a session holds; the row goes when it is free again. */
export interface AgentClaimRow {
  tenant_id: string
  scope: string
  session_id: string
  task_id: string | null
  /** State of the task; null until it is reported. */
  task_state: string | null
  claimed_at: number
}

/** Evidence that a session submitted for one round of its work. */
interface AgentEvidenceRow {
  id: string
  session_id: string
  at: number
  summary: string
  items_json: string
  /** The scopes that were held for it. */
  scopes_json: string
}

/** Person who holds an operator role for a limited time. */
export interface OperatorPeerRow {
  id: string
  tenant_id: string
  role: string
  person_id: string
  key_id: string
  agent_id: string
  terminal_label: string | null
  fence: number
  claimed_at: number
  expires_at: number
  ended_at: number | null
}

/** One side has named the other. */
interface PeerHandshakeRow {
  peer_id: string
  other_id: string
  at: number
}
