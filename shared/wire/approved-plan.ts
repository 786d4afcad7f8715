import { hash as digest } from 'node:crypto'
import * as z from 'zod'
import { canonicalJson } from '../canonical-json.ts'
import { Approval, approvalFault } from './approval.ts'

/**
 * A plan as it travels to the one cell that may carry it out, with the approval that allows it.
 * Strict: a cell must understand every word of what it is to do.
 */
export const ApprovedPlan = z.strictObject({
  /** Names the cell; everything else is for who carries it out. */
  plan: z.record(z.string().max(128), z.json()),
  approval: Approval,
})
export type ApprovedPlan = z.infer<typeof ApprovedPlan>

export interface CellFacts {
  /** This cell. */
  cellId: string
  /** Public keys of the coordinator that this cell has pinned. */
  trusted: readonly string[]
  /** The gate that what the plan does must pass, as the cell itself says. */
  gateId: string
  /** Unix milliseconds by the coordinator's clock; the latest that it may be. */
  now: number
  /** True for a request of which this cell has begun to carry out the plan, also in an earlier life. */
  isUsed: (requestId: string) => boolean
}

/**
 * Why a cell must not carry out this plan now; undefined when it may. Asks nobody. Who carries it out
 * keeps the id of the request on the disk before the first step: that makes it once.
 */
export const approvedPlanFault = (
  message: unknown,
  { cellId, trusted, gateId, now, isUsed }: CellFacts,
): string | undefined => {
  const { data } = ApprovedPlan.safeParse(message)
  if (data === undefined) return 'it is no approved plan'
  const { plan, approval } = data
  if (!trusted.includes(approval.key_id)) return 'nobody signed it whom this cell follows'
  const hash = hashOf(plan)
  if (hash === undefined) return 'the plan has no canonical JSON'
  const fault = approvalFault(approval, {
    ...{ publicKey: approval.key_id, gateId, now },
    planHash: hash,
  })
  if (fault !== undefined) return fault
  if (!Object.hasOwn(plan, 'cell_id') || plan.cell_id !== cellId) return 'it is for another cell'
  return isUsed(approval.request_id) ? 'it was used before' : undefined
}

/** Worked out here: a hash that came along would say nothing of the plan beside it. */
const hashOf = (plan: ApprovedPlan['plan']): string | undefined => {
  try {
    return digest('sha256', canonicalJson(plan))
  } catch {
    return undefined
  }
}
