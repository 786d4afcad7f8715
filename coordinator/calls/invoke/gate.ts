import { GateApproval } from '../../access/gates/approval.ts'
import type { GateViews } from '../../access/gates/open.ts'
import { findApprovalHint } from '../../access/gates/operations/approval-hint.ts'
import { callerOf } from '../../access/gates/operations/gate-view.ts'
import { ownSubject } from '../../access/gates/own-subject.ts'
import type { Caller } from '../../kernel/declaration/caller.ts'
import type { Context } from '../../kernel/declaration/context.ts'
import type { GateRequest } from '../../kernel/declaration/gate-request.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import { PendingResult } from '../../kernel/declaration/pending-result.ts'
import type { ApprovedPlan, OperationPlan } from '../../kernel/declaration/plan.ts'
import type { PipelineViews } from './call-context.ts'

type AnyGated = Operation & { effect: 'gated' }
type AnyApproved = Operation & { usesApproval: true }

/** Runs an operation on its input: directly, by its plan, or with a request approved earlier. */
export const perform = (
  operation: Operation,
  input: object,
  context: Context & PipelineViews,
): Promise<unknown> | unknown => {
  if (operation.effect === 'gated') return carryOut(operation, input, context)
  if (operation.usesApproval) return useEarlierApproval(operation, input, context)
  return operation.run(input as never, context as never)
}

/**
 * Plans, and carries the plan out when it may be: at once without a gate, with its approval
 * otherwise. The answer is `PendingResult` while the approval is missing.
 */
const carryOut = async (
  operation: AnyGated,
  input: object,
  context: Context & PipelineViews,
): Promise<unknown> => {
  const { id, plan, show, run } = operation
  const planned = await plan(input as never, context as never)
  if (show !== undefined && (input as { dry_run?: boolean }).dry_run === true)
    return show(planned.plan)
  const { gate } = planned
  if (gate === undefined) {
    if (run === undefined) throw new TypeError(`${id} has a plan but no run`)
    return run(planned.plan, context as never, undefined)
  }
  const requester = planned.requester ?? callerOf(context)
  const request = planned.request ?? (await askAt(gate, planned, requester, context))
  if (request.state !== 'approved' || run === undefined)
    return toPendingResult(request, planned, context)
  return runWithApproval({ id, run }, { ...planned, request, requester }, context)
}

/**
 * Uses an earlier approval. It is refused when the approval is used, so that the reason is that of
 * the gate and is audited.
 */
const useEarlierApproval = async (
  operation: AnyApproved,
  input: object,
  context: Context & PipelineViews,
): Promise<unknown> => {
  const { request, ...planned } = await operation.plan(input as never, context as never)
  if (request === undefined) return operation.run(planned.plan, context as never, undefined)
  const requester = callerOf(context)
  return runWithApproval(operation, { ...planned, request, requester }, context)
}

type Runnable = Pick<AnyApproved, 'id'> & { run: NonNullable<AnyGated['run']> }
type RequestedPlan = ApprovedPlan<unknown> & { request: GateRequest; requester: Caller }

const runWithApproval = async (
  { id, run }: Runnable,
  { request, requester, ...planned }: RequestedPlan,
  context: Context & PipelineViews,
): Promise<unknown> => {
  const use = { requestId: request.id, plan: coveredPlanOf(planned), caller: requester }
  const approval = new GateApproval(context.gates, use)
  const answer = await run(planned.plan, context as never, approval)
  if (approval.isUsed) return answer
  throw new TypeError(`${id} did not use the approval ${request.id}`)
}

const coveredPlanOf = ({ plan, covers = plan }: ApprovedPlan<unknown>): unknown => covers

/**
 * Finds the request of an equal plan, or makes one; a different plan with its subject supersedes
 * it.
 */
const askAt = async (
  gateId: string,
  planned: OperationPlan<unknown>,
  requester: Caller,
  { gates }: GateViews,
): Promise<GateRequest> => {
  const { summary, evidence, abandon } = planned
  const plan = coveredPlanOf(planned)
  const subject = ownSubject(plan, planned.subject)
  try {
    return await gates.request({ gateId, subject, summary, plan, evidence }, requester)
  } catch (error) {
    await abandon?.()
    throw error
  }
}

/** Visitors without a key are not told who can approve. */
const toPendingResult = async (
  request: GateRequest,
  planned: OperationPlan<unknown>,
  context: Context & PipelineViews,
): Promise<PendingResult> => {
  const { next, difference, shown, claimToken } = planned
  const hint = context.key && (await findApprovalHint(request, context))
  return new PendingResult(request, next?.(request), {
    ...(hint === undefined ? {} : { hint }),
    ...(difference === undefined ? {} : { difference }),
    ...(shown === undefined ? {} : { plan: shown }),
    ...(claimToken === undefined ? {} : { claim_token: claimToken }),
  })
}
