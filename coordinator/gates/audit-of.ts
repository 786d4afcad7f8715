import type { GateRequest } from './request.ts'
import type { Change, Person } from './rules.ts'

/** What one change of a request leaves in the audit. */
export const auditOf = (
  { id, gateId, tenantId, planHash }: GateRequest,
  { state, vote, reason }: Change,
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

/** What a person tried at a request: a vote, or to take it back. */
export type Attempt = 'approve' | 'reject' | 'withdrawn'

/** What a refused attempt leaves in the audit; the request stays as it is. */
export const refusalOf = (
  { id, gateId, tenantId, planHash, state }: GateRequest,
  attempt: Attempt,
  { personId, keyId }: Person,
  why: string,
) => ({
  tenant: tenantId,
  action: `gate.${attempt}`,
  subject: id,
  outcome: 'refused' as const,
  details: { gate: gateId, plan_hash: planHash, state, person: personId, key: keyId, why },
})
