export interface GateTables {
  gate_requests: GateRequestRow
  gate_votes: GateVoteRow
  clocks: ClockRow
  policies: PolicyRow
}

/** One request at a gate; `coordinator/access/gates/request.ts` says what its columns mean. */
export interface GateRequestRow {
  id: string
  gate_id: string
  tenant_id: string
  requester_id: string
  requester_key_id: string
  /** Subject of the request; a newer request of the same person about it supersedes this one. */
  subject: string
  summary: string
  plan_json: string
  plan_hash: string
  policy_hash: string
  evidence_json: string
  state: string
  reason: string | null
  created_at: number
  expires_at: number
  approved_at: number | null
  approval_expires_at: number | null
  consumed_at: number | null
}

/** Vote of one person on one request. */
export interface GateVoteRow {
  request_id: string
  person_id: string
  decision: 'approve' | 'reject'
  key_id: string
  roles_json: string
  reason: string
  at: number
}

/** The latest time that was seen, so that a clock that was set back is noticed. */
interface ClockRow {
  name: string
  at: number
}

/** One policy that took the place of another. Rows are never changed; the newest one holds. */
export interface PolicyRow {
  /** 1, 2, 3 …: in the order in which they took effect. */
  number: number
  /** Version that the policy states in its document. */
  version: string
  hash: string
  document_json: string
  /** Hash of the policy that this one replaced. */
  replaced_hash: string
  /** Hash of the configured policy at the time this one took effect. */
  configured_hash: string
  /** The request at the gate; null for one that was accepted on the machine itself. */
  request_id: string | null
  /** A person, or `local:<user>`. */
  changed_by: string
  changed_at: number
  reason: string
}
