import type { GateRequest } from './request.ts'
import type { Change } from './rules.ts'

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
