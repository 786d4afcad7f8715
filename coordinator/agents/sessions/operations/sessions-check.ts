import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import type { GateViews } from '../../../access/gates/open.ts'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import {
  POLICY_QUESTION,
  PolicyAnswer,
  policyAnswer,
} from '../../../access/gates/operations/policy/policy-question.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { ApprovedPlan } from '../../../kernel/declaration/plan.ts'
import type { SingleUseApproval } from '../../../kernel/declaration/single-use-approval.ts'
import type { AgentViews } from '../open.ts'
import type { AgentSession } from '../session.ts'
import type { Commit } from '../step.ts'
import { findApproved, requireNoRequest } from './check-request.ts'
import { SESSION_ID, SessionView, sessionViewOf } from './session-view.ts'

const CheckInput = z.strictObject({
  ...SESSION_ID,
  action_type: z.string().min(1).max(128).describe('Intended action, such as `release.minor`.'),
  context: POLICY_QUESTION.context,
  request_id: Id.exactOptional().describe(
    'Id of your approved request, for an action that needs a gate; the approval is used up.',
  ),
  confirm: z
    .boolean()
    .default(false)
    .describe('Confirm the pending check as its supervisor, with the same action and context.'),
})
type CheckInput = z.output<typeof CheckInput>

const CheckView = z.object({
  status: z.enum(['passed', 'pending', 'blocked']),
  waits_for: z.enum(['gate', 'supervisor']).nullable(),
  /** Decision of the policy; null when a supervisor confirms. */
  answer: PolicyAnswer.nullable(),
  gate_id: z.string().nullable(),
  request_id: z.string().nullable(),
  next: z.string().describe('Next step, in plain text.'),
  session: SessionView,
})
type CheckView = z.input<typeof CheckView>

export default defineOperation({
  id: 'sessions-check',
  description:
    'Step 4 of 7: check an intended action against the policy, its gate and the supervisor.',
  method: 'POST',
  path: '/v1/sessions/{session_id}/check',
  access: 'key',
  effect: 'write',
  usesApproval: true,
  input: CheckInput,
  answers: { kind: 'gate_request' },
  output: CheckView,
  examples: [{ action_type: 'read.fleet' }],
  success: { field: 'status', codes: { passed: 0, pending: 75, blocked: 77 } },
  plan: async (
    input,
    context: Context & AgentViews & GateViews,
  ): Promise<ApprovedPlan<Confirmation | JudgedCheck>> =>
    input.confirm ? { plan: { confirmed: input } } : judge(input, context),
  run: (plan: Confirmation | JudgedCheck, context: Context & AgentViews, approval) =>
    'confirmed' in plan ? confirm(plan, context) : check(plan, context, approval),
})

/** The check that a supervisor confirms. */
interface Confirmation {
  confirmed: CheckInput
}

const confirm = async (
  { confirmed: input }: Confirmation,
  context: Context & AgentViews,
): Promise<CheckView> => {
  const { session_id, action_type: actionType, context: about, request_id } = input
  if (request_id !== undefined)
    throw new ShoalError('invalid_request', 'a supervisor confirms without a request_id', {
      param: 'request_id',
    })
  const { sessions } = context.agents
  const confirmed = { actionType, context: about }
  const session = await sessions.confirm(session_id, callerOf(context), confirmed)
  return viewOf(session, context, { status: 'passed', next: 'execute, or submit evidence' })
}

type Answer = z.output<typeof PolicyAnswer>
type Stop = Pick<CheckView, 'status' | 'next' | 'request_id'>

/** A check that was judged; `stop` is why its gate does not let it pass yet. */
interface JudgedCheck {
  input: CheckInput
  answer: Answer
  session: AgentSession
  stop?: Stop
}

/** Judges a check, and finds the request that it uses up where its action needs a gate. */
const judge = async (
  input: CheckInput,
  context: Context & AgentViews & GateViews,
): Promise<ApprovedPlan<JudgedCheck>> => {
  const { session_id, action_type, context: about } = input
  const { agents, policies, key } = context
  const session = await agents.sessions.require(session_id, callerOf(context), 'check')
  const asker = key ?? { kind: 'autonomous' as const, roles: [] }
  const question = { action_type, actor_id: session.agentId, context: about }
  const answer = policyAnswer(question, policies.current(), asker)
  const plan = { input, answer, session }
  if (answer.decision === 'denied' || isWaiting(session, input)) return { plan }
  if (answer.gate_id === null) {
    requireNoRequest(input)
    return { plan }
  }
  const found = await findApproved(answer.gate_id, input, context)
  if ('status' in found) return { plan: { ...plan, stop: found } }
  return { plan, covers: found.plan, request: found }
}

const check = async (
  { input, answer, session, stop }: JudgedCheck,
  context: Context & AgentViews,
  approval: SingleUseApproval | undefined,
): Promise<CheckView> => {
  const { session_id, action_type: actionType, context: about, request_id: requestId } = input
  const { sessions } = context.agents
  const caller = callerOf(context)
  if (answer.decision === 'denied') {
    await sessions.hold(session_id, caller, { actionType, gateId: undefined, pending: false })
    throw new ShoalError('forbidden', `${actionType} is denied: ${answer.reason}`)
  }
  if (isWaiting(session, input)) return waitsForSupervisor(session, context, answer)
  if (stop !== undefined) {
    const held = { actionType, gateId: answer.gate_id ?? undefined, pending: true }
    const after = await sessions.hold(session_id, caller, held)
    return viewOf(after, context, { ...stop, answer, waits_for: 'gate' })
  }
  const commit: Commit | undefined = approval && (work => approval.use(work))
  const passed = { actionType, context: about, requestId, ...(commit && { commit }) }
  const after = await sessions.pass(session_id, caller, passed)
  if (after.waiting !== undefined) return waitsForSupervisor(after, context, answer)
  const next = 'execute, or do the work and submit evidence'
  return viewOf(after, context, { status: 'passed', answer, next, request_id: requestId ?? null })
}

/** True when this same check already waits for the supervisor; repeating it changes nothing. */
const isWaiting = ({ waiting }: AgentSession, asked: CheckInput): boolean =>
  waiting !== undefined &&
  waiting.actionType === asked.action_type &&
  waiting.context === asked.context &&
  waiting.requestId === asked.request_id

const waitsForSupervisor = (session: AgentSession, context: Context, answer: Answer): CheckView =>
  viewOf(session, context, {
    status: 'pending',
    waits_for: 'supervisor',
    answer,
    request_id: session.waiting?.requestId ?? null,
    next: `the person of session ${session.supervisorId} must confirm it: the same check with confirm: true`,
  })

const viewOf = (
  session: AgentSession,
  { now }: Context,
  {
    answer = null,
    waits_for = null,
    request_id = null,
    ...rest
  }: Partial<CheckView> & Pick<CheckView, 'status' | 'next'>,
): CheckView => ({
  answer,
  waits_for,
  request_id,
  gate_id: answer?.gate_id ?? null,
  ...rest,
  session: sessionViewOf(session, now()),
})
