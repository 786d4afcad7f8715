import * as z from 'zod'
import { isSignedBy, PublicKey, Signature, type Signer } from '../signing.ts'

/** Most approvers that one approval can name. */
export const MAX_APPROVERS = 16

/**
 * Approval as sent over the wire: any holder of the coordinator's public key can verify it offline.
 * Times are unix milliseconds by the coordinator's clock.
 */
export const Approval = z.strictObject({
  request_id: z.string().max(64),
  gate_id: z.string().max(128),
  /** SHA-256 of the approved plan in canonical JSON, hexadecimal. */
  plan_hash: z.string().regex(/^[0-9a-f]{64}$/),
  /** SHA-256 of the gate's rules in force when it was given, hexadecimal. */
  policy_hash: z.string().regex(/^[0-9a-f]{64}$/),
  requester_id: z.string().max(128),
  /** Distinct approvers, none of them the requester. */
  approver_ids: z.array(z.string().max(128)).min(1).max(MAX_APPROVERS),
  approved_at: z.int().nonnegative(),
  expires_at: z.int().nonnegative(),
  /** Public key of the coordinator that signed. */
  key_id: PublicKey,
  /** Signature over all other fields. */
  signature: Signature,
})
export type Approval = z.infer<typeof Approval>

const PURPOSE = 'approval'

export const signApproval = (
  approval: Omit<Approval, 'key_id' | 'signature'>,
  signer: Signer,
): Approval => {
  const named = { ...approval, key_id: signer.publicKey }
  return { ...named, signature: signer.sign(PURPOSE, named) }
}

interface ApprovalFacts {
  publicKey: string
  /** Gate that the plan must pass; a requester could submit the same plan at a weaker gate. */
  gateId: string
  planHash: string
  now: number
}

type Fault =
  | 'missing'
  | 'malformed'
  | 'not_genuine'
  | 'other_gate'
  | 'other_cell'
  | 'other_plan'
  | 'expired'
  | 'not_counted'
  | 'used'

export interface ApprovalFault {
  /** Machine-readable reason. */
  reason: `approval_${Fault}`
  message: string
}

export const toApprovalFault = (fault: Fault, message: string): ApprovalFault => ({
  reason: `approval_${fault}`,
  message: `the approval is not valid: ${message}`,
})

/**
 * Reason why an approval does not allow this plan now; undefined when it does. Single use is not
 * checked here: the coordinator counts uses, and a cell records the requests used on it.
 */
export const findApprovalFault = (
  approval: Approval,
  { publicKey, gateId, planHash, now }: ApprovalFacts,
): ApprovalFault | undefined => {
  const { signature, ...body } = approval
  if (!isSignedBy(publicKey, PURPOSE, body, signature))
    return toApprovalFault('not_genuine', 'its signature is wrong')
  if (approval.gate_id !== gateId)
    return toApprovalFault('other_gate', `it is of ${approval.gate_id}, not of ${gateId}`)
  if (approval.plan_hash !== planHash)
    return toApprovalFault('other_plan', 'it is for another plan')
  if (now >= approval.expires_at) return toApprovalFault('expired', 'it has expired')
  if (new Set(approval.approver_ids).size !== approval.approver_ids.length)
    return toApprovalFault('not_counted', 'one person is named twice')
  if (approval.approver_ids.includes(approval.requester_id))
    return toApprovalFault('not_counted', 'the requester is among the approvers')
  return undefined
}
