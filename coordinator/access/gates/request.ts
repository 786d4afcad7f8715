import type { GateDefinition } from './definition.ts'
import type { Voter } from './seats.ts'

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
  reason: string | undefined
  createdAt: number
  /** Unix time at which a pending request expires. */
  expiresAt: number
  approvedAt: number | undefined
  /** Unix time at which an approval expires. */
  approvalExpiresAt: number | undefined
  consumedAt: number | undefined
  votes: readonly Vote[]
}

/** Returns the state as of now: an overdue request is expired even before it is marked so. */
export const stateAt = (
  request: Pick<GateRequest, 'state' | 'expiresAt' | 'approvalExpiresAt'>,
  now: number,
): RequestState => {
  const { state, expiresAt, approvalExpiresAt = Number.NEGATIVE_INFINITY } = request
  if (state === 'pending' && now >= expiresAt) return 'expired'
  if (state === 'approved' && now >= approvalExpiresAt) return 'expired'
  return state
}

type PublicStatus = 'approved' | 'pending' | 'blocked'

/**
 * Status as reported to clients (interface specification, section 3); the reason distinguishes the
 * ends.
 */
export const publicStatus = (state: RequestState): PublicStatus =>
  state === 'approved' || state === 'pending' ? state : 'blocked'

/** Unix time at which a request at this gate expires without approval. */
export const requestEnd = ({ request_minutes }: GateDefinition, now: number): number =>
  now + request_minutes * 60_000

/** Unix time at which an approval given now expires. */
export const approvalEnd = ({ approval_minutes }: GateDefinition, now: number): number =>
  now + approval_minutes * 60_000
