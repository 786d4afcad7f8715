import { canonicalHash } from '../../shared/canonical-hash.ts'
import { newId } from '../../shared/ids.ts'
import type { Signer } from '../../shared/signing.ts'
import { type Approval, signApproval } from '../../shared/wire/approval.ts'
import type { ApprovedPlan } from '../../shared/wire/approved-plan.ts'
import { LIVE_GATE, type PlanPart, planOf } from '../../shared/wire/plan-part.ts'

type Given = { signer: Signer; expiresAt: number } & Partial<Approval>

/** The approval of any plan by two people. */
export const approvePlan = (
  plan: ApprovedPlan['plan'],
  { signer, expiresAt, ...changes }: Given,
): ApprovedPlan => ({
  plan,
  approval: signApproval(
    {
      request_id: newId('gate'),
      gate_id: LIVE_GATE,
      plan_hash: canonicalHash(plan),
      policy_hash: 'f'.repeat(64),
      requester_id: 'bea',
      approver_ids: ['ada', 'art'],
      approved_at: expiresAt - 900_000,
      expires_at: expiresAt,
      ...changes,
    },
    signer,
  ),
})

/** The approval of what one cell would do for an unsafe command. */
export const approvalFor = (
  part: Omit<PlanPart, 'bounds' | 'gate'> & Partial<PlanPart>,
  given: Given,
): ApprovedPlan => approvePlan(planOf({ gate: LIVE_GATE, bounds: {}, ...part }), given)
