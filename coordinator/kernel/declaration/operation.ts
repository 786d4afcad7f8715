import type * as z from 'zod'
import type { Context } from './context.ts'
import { type Declaration, type Deprecation, pathFields } from './declaration.ts'
import type { PendingResult } from './pending-result.ts'
import type { ApprovedPlan, OperationPlan } from './plan.ts'
import type { SingleUseApproval } from './single-use-approval.ts'

type Answer<O extends z.ZodType> = Promise<z.input<O>> | z.input<O>

/** Behaviour of an operation that reads, or changes data of the coordinator alone. */
interface DirectBehaviour<I extends z.ZodObject, O extends z.ZodType, Run> {
  effect: 'read' | 'write'
  usesApproval?: never
  plan?: never
  show?: never
  recall?: never
  run: (input: z.output<I>, context: Run) => Answer<O>
}

/**
 * Behaviour of an operation that acts on the world. The pipeline plans, answers a dry run (`dry_run`
 * in the input) with `show`, asks at the gate that the plan names, and calls `run` with the approved
 * plan and its approval.
 */
interface GatedBehaviour<I extends z.ZodObject, O extends z.ZodType, P, Plan, Run, Recall> {
  effect: 'gated'
  usesApproval?: never
  plan: (input: z.output<I>, context: Plan) => Promise<OperationPlan<P>> | OperationPlan<P>
  /** Answer of a dry run. */
  show?: (plan: P) => z.input<O>
  /**
   * Absent when another operation carries out the approved plan: then the answer is always
   * `PendingResult`. A run with an approval must call `approval.use` around its effect.
   */
  run?: (
    plan: P,
    context: Run,
    approval: SingleUseApproval | undefined,
  ) => Promise<z.input<O> | PendingResult> | z.input<O> | PendingResult
  /**
   * Answer of a call that was interrupted by the death of its coordinator, from the ids of what the
   * call has created; undefined when these are not known any more.
   */
  recall?: (created: readonly string[], context: Recall) => Promise<z.input<O> | undefined>
}

/**
 * Behaviour of a write that uses up a request approved before the call. It is never pending: with a
 * request that is not approved, the use of the approval is refused.
 */
interface ApprovedBehaviour<I extends z.ZodObject, O extends z.ZodType, P, Plan, Run> {
  effect: 'write'
  usesApproval: true
  plan: (input: z.output<I>, context: Plan) => Promise<ApprovedPlan<P>> | ApprovedPlan<P>
  show?: never
  recall?: never
  /** Carries out the plan. With an approval, it must call `approval.use` around its effect. */
  run: (plan: P, context: Run, approval: SingleUseApproval | undefined) => Answer<O>
}

/** Rule that tells which inputs must not be carried out twice. */
interface CallKeyRule<I extends z.ZodObject, Views> {
  /**
   * True for an input that must not be carried out twice: the call needs an idempotency key. A
   * task needs none, because its message is carried out once.
   */
  needsCallKey?: (input: z.output<I>, views: Views) => boolean
}

/**
 * Behaviour of an operation. `Plan`, `Run`, `Rule` and `Recall` are what its functions need: the
 * context of the call, and the views of the domains that they act on.
 */
export type Behaviour<I extends z.ZodObject, O extends z.ZodType, P, Plan, Run, Rule, Recall> = (
  | DirectBehaviour<I, O, Run>
  | GatedBehaviour<I, O, P, Plan, Run, Recall>
  | ApprovedBehaviour<I, O, P, Plan, Run>
) &
  CallKeyRule<I, Rule>

/**
 * Any call the coordinator accepts, except for the OpenAI routes. `Needs` is what it must be called
 * with; the pipeline provides it, and `test/catalogue/needs.ts` proves that a part has all of it.
 */
export type Operation<Needs = never> = Declaration &
  Behaviour<z.ZodObject, z.ZodType, unknown, Needs, Needs, Needs, Needs>

/** Checks one declaration. Throws where its parts do not fit each other. */
export const defineOperation = <
  I extends z.ZodObject,
  O extends z.ZodType,
  P,
  Plan = Context,
  Run = Context,
  Rule = unknown,
  Recall = Context,
>(
  operation: Declaration<I, O> & Behaviour<I, O, P, Plan, Run, Rule, Recall>,
): Operation<Plan & Run & Rule & Recall> => {
  const { id, input, effect, show, deprecated } = operation
  for (const field of pathFields(operation.path))
    if (!(field in input.shape))
      throw new TypeError(`${id}: ${field} of the path is not in the input`)
  if (effect === 'gated' && 'dry_run' in input.shape !== (show !== undefined))
    throw new TypeError(`${id}: an input with dry_run and a plan with show belong together`)
  if (deprecated !== undefined) requireNotice(id, deprecated)
  return operation as unknown as Operation<Plan & Run & Rule & Recall>
}

/** Six months, the shortest ones. */
const NOTICE_MS = 181 * 86_400_000
const DAY = /^\d{4}-\d{2}-\d{2}$/

const requireNotice = (id: string, { since, sunset }: Deprecation): void => {
  const noticeMs = Date.parse(sunset) - Date.parse(since)
  if (!DAY.test(since) || !DAY.test(sunset) || !(noticeMs >= NOTICE_MS))
    throw new TypeError(`${id}: ${since} to ${sunset} is less than six months`)
}
