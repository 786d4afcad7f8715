import * as z from 'zod'
import { canonicalHash } from '../canonical-hash.ts'
import { CELL_ID } from '../ids.ts'
import { Approval, type ApprovalFault, findApprovalFault, toApprovalFault } from './approval.ts'

/** Most parts that one approval can cover: as many as fit into a plan that people can read. */
const MAX_PARTS = 512

/** Assigns a part of a plan to the cell that executes it. */
const PlanPartRef = z.strictObject({
  cell_id: z.string().regex(CELL_ID),
  /** SHA-256 of the part in canonical JSON, hexadecimal. */
  part_hash: z.string().regex(/^[0-9a-f]{64}$/),
})

/**
 * A plan as sent to each cell that executes a part of it, with its approval. Strict: a cell must
 * understand every field of what it executes.
 */
export const ApprovedPlan = z.strictObject({
  /** `parts` lists what is approved for each cell; all other fields are for people. */
  plan: z.record(z.string().max(128), z.json()),
  approval: Approval,
})
export type ApprovedPlan = z.infer<typeof ApprovedPlan>

const Parts = z.array(PlanPartRef).min(1).max(MAX_PARTS)

interface CellFacts {
  /** Id of this cell. */
  cellId: string
  /** Public keys of the coordinator that this cell has pinned. */
  trusted: readonly string[]
  /** Gate that the plan's actions must pass, as determined by the cell itself. */
  gateId: string
  /** Hash of the part as this cell has just recomputed it. */
  partHash: string
  /** Latest possible time by the coordinator's clock, in unix milliseconds. */
  now: number
  /**
   * True for a request whose part was already used by another command on this cell, including
   * before a restart.
   */
  isUsed: (requestId: string, partHash: string) => boolean
}

/**
 * Reason why a cell must not execute its part of this plan now; undefined when it may. The check is
 * local. The executor stores the request id on disk before the first step, which makes it
 * single-use.
 */
export const findPlanFault = (
  message: unknown,
  { cellId, trusted, gateId, partHash, now, isUsed }: CellFacts,
): ApprovalFault | undefined => {
  const { data } = ApprovedPlan.safeParse(message)
  const parts = Parts.safeParse(data?.plan.parts).data
  if (data === undefined || parts === undefined)
    return toApprovalFault('malformed', 'it is not an approved plan')
  const { plan, approval } = data
  if (!trusted.includes(approval.key_id))
    return toApprovalFault('not_genuine', 'its key is not one that this cell follows')
  const planHash = hashOf(plan)
  if (planHash === undefined) return toApprovalFault('malformed', 'the plan has no canonical JSON')
  const fault = findApprovalFault(approval, { publicKey: approval.key_id, gateId, planHash, now })
  if (fault !== undefined) return fault
  const own = parts.filter(part => part.cell_id === cellId)
  if (own.length === 0) return toApprovalFault('other_cell', 'it has no part for this cell')
  if (!own.some(part => part.part_hash === partHash))
    return toApprovalFault('other_plan', 'what this cell would do now is not what was approved')
  if (isUsed(approval.request_id, partHash))
    return toApprovalFault('used', `request ${approval.request_id} was used before`)
  return undefined
}

/** The hash is computed here: a hash sent along would prove nothing about the plan beside it. */
const hashOf = (plan: ApprovedPlan['plan']): string | undefined => {
  try {
    return canonicalHash(plan)
  } catch {
    return undefined
  }
}
