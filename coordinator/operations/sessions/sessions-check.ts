import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import type { AgentSession } from '../../agents/session.ts'
import type { Commit } from '../../agents/step.ts'
import { SingleUseApproval } from '../../gates/approval.ts'
import type { Caller } from '../../gates/asking.ts'
import { isOwnSubject } from '../../gates/own-subject.ts'
import { type GateRequest, publicStatus, stateAt } from '../../gates/request.ts'
import type { Context } from '../context.ts'
import { Id } from '../fields.ts'
import { callerOf } from '../gates/gate-view.ts'
import { defineOperation } from '../operation.ts'
import { POLICY_QUESTION, PolicyAnswer, policyAnswer } from '../policy/policy-question.ts'
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
  input: CheckInput,
  output: CheckView,
  examples: [{ action_type: 'read.fleet' }],
  exit: { field: 'status', codes: { passed: 0, pending: 75, blocked: 77 } },
  run: (input, context) => (input.confirm ? confirm(input, context) : check(input, context)),
})

const confirm = async (input: CheckInput, context: Context): Promise<CheckView> => {
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

const check = async (input: CheckInput, context: Context): Promise<CheckView> => {
  const { session_id, action_type, context: about, request_id } = input
  const { agents, policies, key } = context
  const caller = callerOf(context)
  const session = await agents.sessions.require(session_id, caller, 'check')
  const asker = key ?? { kind: 'autonomous' as const, roles: [] }
  const question = { action_type, actor_id: session.agentId, context: about }
  const answer = policyAnswer(question, policies.current(), asker)
  if (answer.decision === 'denied') {
    const held = { actionType: action_type, gateId: undefined, pending: false }
    await agents.sessions.hold(session_id, caller, held)
    throw new ShoalError('forbidden', `${action_type} is denied: ${answer.reason}`)
  }
  if (isWaiting(session, input)) return waitsForSupervisor(session, context, answer)
  const passage =
    answer.gate_id === null
      ? withoutGate(input)
      : await passWith(answer.gate_id, input, caller, context)
  if ('status' in passage) {
    const held = { actionType: action_type, gateId: answer.gate_id ?? undefined, pending: true }
    const after = await agents.sessions.hold(session_id, caller, held)
    return viewOf(after, context, { ...passage, answer, waits_for: 'gate' })
  }
  const passed = { actionType: action_type, context: about, requestId: request_id, ...passage }
  const after = await agents.sessions.pass(session_id, caller, passed)
  if (after.waiting !== undefined) return waitsForSupervisor(after, context, answer)
  const next = 'execute, or do the work and submit evidence'
  return viewOf(after, context, { status: 'passed', answer, next, request_id: request_id ?? null })
}

/** True when this same check already waits for the supervisor; repeating it changes nothing. */
const isWaiting = ({ waiting }: AgentSession, asked: CheckInput): boolean =>
  waiting !== undefined &&
  waiting.actionType === asked.action_type &&
  waiting.context === asked.context &&
  waiting.requestId === asked.request_id

type Passage = { commit?: Commit } | Pick<CheckView, 'status' | 'next' | 'request_id'>

/** Rejects an approval for an action that needs no gate. */
const withoutGate = ({ action_type, request_id }: CheckInput): Passage => {
  if (request_id === undefined) return {}
  throw new ShoalError('invalid_request', `${action_type} needs no gate: omit request_id`, {
    param: 'request_id',
  })
}

/** Passes with an approved request of the caller, which is used up in the same transaction. */
const passWith = async (
  gateId: string,
  asked: CheckInput,
  caller: Caller,
  { gates, now }: Context,
): Promise<Passage> => {
  const { request_id: requestId } = asked
  const plan = JSON.stringify(planOf(asked))
  const ask = `request approval at the gate (shoal gate request ${gateId} --plan '${plan}'), then check again with its request_id`
  if (requestId === undefined) return { status: 'pending', request_id: null, next: ask }
  const request = await gates.get(requestId, { tenantId: caller.tenantId })
  requireUsable(request, gateId, caller)
  requirePlan(request, asked)
  const state = stateAt(request, now())
  if (state === 'pending')
    return {
      status: 'pending',
      request_id: requestId,
      next: 'once others have approved it, check again with the same request_id',
    }
  if (publicStatus(state) === 'blocked')
    return { status: 'blocked', request_id: requestId, next: `the request is ${state}: ${ask}` }
  const approval = new SingleUseApproval(gates, { requestId, plan: request.plan, caller })
  return { commit: work => approval.use(work) }
}

/** Minimum content of an approved plan: this action with its context. */
const planOf = ({ action_type, context }: CheckInput): Record<string, string> => ({
  action_type,
  ...(context === undefined ? {} : { context }),
})

/**
 * Throws unless the plan of the approval names this action; an approval does not cover other
 * actions at the same gate.
 */
const requirePlan = ({ id, plan }: GateRequest, asked: CheckInput): void => {
  const told = (plan ?? {}) as Record<string, unknown>
  const wanted = planOf(asked)
  if (Object.entries(wanted).every(([name, value]) => told[name] === value)) return
  throw new ShoalError(
    'invalid_request',
    `the plan of ${id} does not match this action: it must contain ${JSON.stringify(wanted)}`,
    { param: 'request_id' },
  )
}

/**
 * Throws unless the request is the caller's own, at this gate, and does not belong to an operation.
 */
const requireUsable = (request: GateRequest, gateId: string, { person }: Caller): void => {
  if (request.requesterId !== person.personId)
    throw new ShoalError('not_found', `no request ${request.id}`)
  if (request.gateId !== gateId)
    throw new ShoalError(
      'invalid_request',
      `${request.id} is at ${request.gateId}, not ${gateId}`,
      {
        param: 'request_id',
      },
    )
  if (isOwnSubject(request.subject))
    throw new ShoalError('conflict', `${request.id} belongs to the operation that requested it`)
}

const waitsForSupervisor = (
  session: AgentSession,
  context: Context,
  answer: z.output<typeof PolicyAnswer>,
): CheckView =>
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
