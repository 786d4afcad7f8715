/**
 * pending -> approved -> consumed; pending -> blocked (one rejection); pending or approved ->
 * expired, superseded (a newer request of the same person for the same subject), withdrawn.
 */
export const REQUEST_STATES = [
  'pending',
  'approved',
  'consumed',
  'blocked',
  'expired',
  'superseded',
  'withdrawn',
] as const
export type RequestState = (typeof REQUEST_STATES)[number]

/** Person who has approved. */
export interface Voter {
  personId: string
  roles: readonly string[]
}

export interface Vote extends Voter {
  keyId: string
  decision: 'approve' | 'reject'
  /** Unix milliseconds, as all times here. */
  at: number
  reason: string
}

/** One request at a gate, bound to the exact plan. */
export interface GateRequest {
  id: string
  gateId: string
  tenantId: string
  /** The requester, by person: none of their keys can approve. */
  requesterId: string
  requesterKeyId: string
  /** Subject, such as a release or a device. A newer request about it supersedes an older one. */
  subject: string
  /** One line for the approvers. */
  summary: string
  plan: unknown
  /** SHA-256 of the plan in canonical JSON, hexadecimal. */
  planHash: string
  /** SHA-256 of the gate's definition when the request was made. */
  policyHash: string
  /** Evidence for the audit: tickets, reports, labels of the caller. */
  evidence: unknown
  state: RequestState
  /** Reason for the end of the request, in plain words. */
  reason?: string | undefined
  createdAt: number
  /** Unix time at which a pending request expires. */
  expiresAt: number
  approvedAt?: number | undefined
  /** Unix time at which an approval expires. */
  approvalExpiresAt?: number | undefined
  consumedAt?: number | undefined
  votes: readonly Vote[]
}
