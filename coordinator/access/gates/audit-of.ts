import type { GatePerson } from '../../kernel/declaration/caller.ts'
import type { GateRequest } from '../../kernel/declaration/gate-request.ts'
import type { RequestChange } from './rules.ts'

/** The audit row of one change of a request. */
export const auditOf = (
  { id, gateId, tenantId, planHash }: GateRequest,
  { state, vote, reason }: RequestChange,
) => ({
  tenant: tenantId,
  action: `gate.${vote?.decision ?? state}`,
  subject: id,
  outcome: 'done' as const,
  details: {
    gate: gateId,
    plan_hash: planHash,
    state,
    ...(vote === undefined ? {} : { person: vote.personId, key: vote.keyId }),
    ...(reason === undefined ? {} : { reason }),
  },
})

/** Attempt of a person on a request: a vote or a withdrawal. */
export type GateAttempt = 'approve' | 'reject' | 'withdrawn'

/** The audit row of a refused attempt; the request stays unchanged. */
export const refusalAuditOf = (
  { id, gateId, tenantId, planHash, state }: GateRequest,
  attempt: GateAttempt,
  { personId, keyId }: GatePerson,
  why: string,
) => ({
  tenant: tenantId,
  action: `gate.${attempt}`,
  subject: id,
  outcome: 'refused' as const,
  details: { gate: gateId, plan_hash: planHash, state, person: personId, key: keyId, why },
})
