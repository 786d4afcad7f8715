import { ShoalError } from '../../../../shared/errors.ts'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import type { GateViews } from '../../../access/gates/open.ts'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import { isOwnSubject } from '../../../access/gates/own-subject.ts'
import { publicStatus, stateAt } from '../../../access/gates/request.ts'
import type { Caller } from '../../../kernel/declaration/caller.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import type { GateRequest } from '../../../kernel/declaration/gate-request.ts'

/** Action that a check is about, and the request that shall cover it. */
interface CheckedAction {
  action_type: string
  context?: string | undefined
  request_id?: string | undefined
}

/** A gate that does not let a check pass yet. */
interface GateStop {
  status: 'pending' | 'blocked'
  request_id: string | null
  next: string
}

/** Rejects an approval for an action that needs no gate. */
export const requireNoRequest = ({ action_type, request_id }: CheckedAction): void => {
  if (request_id === undefined) return
  throw new ShoalError('invalid_request', `${action_type} needs no gate: omit request_id`, {
    param: 'request_id',
  })
}

/** Finds the approved request of the caller that covers the action, or why there is none yet. */
export const findApproved = async (
  gateId: string,
  action: CheckedAction,
  context: Context & GateViews,
): Promise<GateRequest | GateStop> => {
  const { gates, now } = context
  const { request_id: requestId } = action
  const plan = JSON.stringify(minimumPlanOf(action))
  const ask = `request approval at the gate (shoal gate request ${gateId} --plan '${plan}'), then check again with its request_id`
  if (requestId === undefined) return { status: 'pending', request_id: null, next: ask }
  const caller = callerOf(context)
  const request = await gates.get(requestId, { tenantId: caller.tenantId })
  requireUsable(request, gateId, caller)
  requirePlan(request, action)
  const state = stateAt(request, now())
  if (state === 'pending')
    return {
      status: 'pending',
      request_id: requestId,
      next: 'once others have approved it, check again with the same request_id',
    }
  if (publicStatus(state) === 'blocked')
    return { status: 'blocked', request_id: requestId, next: `the request is ${state}: ${ask}` }
  return request
}

/** Minimum content of an approved plan: this action with its context. */
const minimumPlanOf = ({ action_type, context }: CheckedAction): Record<string, string> => ({
  action_type,
  ...(context === undefined ? {} : { context }),
})

/**
 * Throws unless the plan of the approval names this action; an approval does not cover other
 * actions at the same gate.
 */
const requirePlan = ({ id, plan }: GateRequest, action: CheckedAction): void => {
  const approved = (plan ?? {}) as Record<string, unknown>
  const wanted = minimumPlanOf(action)
  if (Object.entries(wanted).every(([name, value]) => approved[name] === value)) return
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
  if (request.requesterId !== person.personId) throw createUnknownError('request', request.id)
  if (request.gateId !== gateId)
    throw new ShoalError(
      'invalid_request',
      `${request.id} is at ${request.gateId}, not ${gateId}`,
      { param: 'request_id' },
    )
  if (isOwnSubject(request.subject))
    throw new ShoalError('conflict', `${request.id} belongs to the operation that requested it`)
}
