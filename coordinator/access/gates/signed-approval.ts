import type { Signer } from '../../../shared/signing.ts'
import { type Approval, signApproval } from '../../../shared/wire/approval.ts'
import type { GateRequest } from '../../kernel/declaration/gate-request.ts'

/**
 * Returns the approval of a request in its transport form; undefined for a request without
 * approvals.
 */
export const createSignedApproval = (
  request: GateRequest,
  signer: Signer,
): Approval | undefined => {
  const { id, gateId, planHash, policyHash, requesterId, votes } = request
  const { approvedAt, approvalExpiresAt = approvedAt } = request
  if (approvedAt === undefined || approvalExpiresAt === undefined) return undefined
  const approvers = votes.filter(({ decision }) => decision === 'approve')
  return signApproval(
    {
      request_id: id,
      gate_id: gateId,
      plan_hash: planHash,
      policy_hash: policyHash,
      requester_id: requesterId,
      approver_ids: approvers.map(({ personId }) => personId),
      approved_at: approvedAt,
      expires_at: approvalExpiresAt,
    },
    signer,
  )
}
