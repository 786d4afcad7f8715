import type { ErrorReason } from '../../../shared/error-reasons.ts'
import { type ErrorDetails, ShoalError } from '../../../shared/errors.ts'
import { MAX_APPROVERS } from '../../../shared/wire/approval.ts'
import type { GatePerson } from '../../kernel/declaration/caller.ts'
import type { GateRequest, RequestState, Vote } from '../../kernel/declaration/gate-request.ts'
import { OPERATOR_ROLES } from '../../kernel/declaration/key.ts'
import type { GateDefinition } from './definition.ts'
import { approvalEnd, stateAt } from './request.ts'
import { rulesFault } from './rules-fault.ts'
import { areSeatsFilled, openSeats } from './seats.ts'

type Seats = GateDefinition['approvals']

export type RequestChange = Pick<GateRequest, 'state'> &
  Partial<Pick<GateRequest, 'reason' | 'approvedAt' | 'approvalExpiresAt' | 'consumedAt'>> & {
    vote?: Vote
  }

/** Change that ends a request and grants nothing. */
export interface RequestEnd {
  state: 'expired' | 'superseded'
  reason: string
}

const refuse = (message: string): never => {
  throw new ShoalError('forbidden', message)
}

const requireState = (request: GateRequest, wanted: string, now: number): void => {
  const state = stateAt(request, now)
  if (state !== wanted)
    throw new ShoalError('conflict', `request ${request.id} is ${state}, not ${wanted}`)
}

/** Throws unless the judge may decide: a person, not a program, and not the requester. */
const requireJudge = (request: GateRequest, wanted: readonly string[], judge: GatePerson): void => {
  if (judge.kind !== 'person') refuse(`a key of kind ${judge.kind} cannot decide at a gate`)
  if (judge.personId === request.requesterId)
    refuse('you cannot decide on your own request; ask another approver')
  if (!judge.roles.some(role => wanted.includes(role)))
    refuse(`${request.gateId} is decided by ${[...new Set(wanted)].join(' or ')}`)
}

/**
 * Returns the change that an approval makes; none when this person has approved before. The request
 * is approved when different people fill all seats. Throws `forbidden` for a person without the
 * right, and `conflict` when the request is no longer pending, or when other roles are needed and
 * too many have approved.
 */
export const approveRequest = (
  request: GateRequest,
  definition: GateDefinition,
  judge: GatePerson,
  { now, reason }: { now: number; reason: string },
): RequestChange | undefined => {
  requireJudge(request, definition.approvals.flat(), judge)
  if (hasApproved(request, judge) && stateAt(request, now) !== 'expired') return undefined
  requireState(request, 'pending', now)
  const vote = voteOf(judge, 'approve', now, reason)
  requirePlace(request, definition.approvals, vote)
  if (!areSeatsFilled(definition.approvals, [...request.votes, vote]))
    return { state: 'pending', vote }
  const approvalExpiresAt = approvalEnd(definition, now)
  return { state: 'approved', approvedAt: now, approvalExpiresAt, vote }
}

/**
 * The number of votes is limited. A voter who fills no open seat must leave one place for each open
 * seat, so that the missing approvers can always approve.
 */
const requirePlace = ({ id, votes }: GateRequest, seats: Seats, vote: Vote): void => {
  if (votes.length + seats.length < MAX_APPROVERS) return
  if (openSeats(seats, [...votes, vote]) < openSeats(seats, votes)) return
  throw new ShoalError(
    'conflict',
    `${votes.length} have approved request ${id} already; others are needed`,
  )
}

const hasApproved = ({ votes }: GateRequest, { personId }: GatePerson): boolean =>
  votes.some(vote => vote.personId === personId && vote.decision === 'approve')

/**
 * One rejection blocks a request, also after others have approved, until the approval is used. A
 * rejection grants nothing, so requests under superseded rules can be rejected too, and by every
 * operator when the gate is gone.
 */
export const rejectRequest = (
  request: GateRequest,
  definition: GateDefinition | undefined,
  judge: GatePerson,
  { now, reason }: { now: number; reason: string },
): RequestChange => {
  requireJudge(request, definition?.approvals.flat() ?? OPERATOR_ROLES, judge)
  if (stateAt(request, now) !== 'approved') requireState(request, 'pending', now)
  const vote = voteOf(judge, 'reject', now, reason)
  const why = reason === '' ? `rejected by ${judge.personId}` : `rejected: ${reason}`
  return { state: 'blocked', reason: why, vote }
}

/** The requester may withdraw a request until it is used. */
export const withdrawRequest = (
  request: GateRequest,
  person: GatePerson,
  now: number,
): RequestChange => {
  if (person.personId !== request.requesterId) refuse('only the requester can withdraw it')
  if (stateAt(request, now) !== 'approved') requireState(request, 'pending', now)
  return { state: 'withdrawn', reason: 'withdrawn by the requester' }
}

/** Reason why an approval cannot be used, with the details of the error. */
export interface UseFault extends Pick<ErrorDetails, 'reason' | 'next'> {
  message: string
}

/** Facts at the moment of use, read again. */
interface UseFacts {
  /** Hash of the plan that is about to run. */
  planHash: string
  /** Current roles of the voters' keys; none for a key that is revoked or expired. */
  rolesNow: ReadonlyMap<string, readonly string[]>
  now: number
}

/**
 * Reason why an approval cannot be used now; undefined when it can. Everything is checked again:
 * state, time, plan, policy, and whether the approvers may still approve.
 */
export const useFault = (
  request: GateRequest,
  definition: GateDefinition | undefined,
  { planHash, rolesNow, now }: UseFacts,
): UseFault | undefined => {
  const state = stateAt(request, now)
  if (state !== 'approved') return stateFault(request, state)
  if (planHash !== request.planHash)
    return { message: 'the plan is not the one that was approved', reason: 'approval_other_plan' }
  const changed = rulesFault(request, definition)
  if (changed !== undefined || definition === undefined)
    return changed === undefined ? undefined : { message: changed }
  const still = request.votes
    .filter(({ decision, personId }) => decision === 'approve' && personId !== request.requesterId)
    .map(vote => ({ ...vote, roles: rolesNow.get(vote.keyId) ?? [] }))
  if (!areSeatsFilled(definition.approvals, still))
    return { message: 'who approved may no longer approve' }
  return undefined
}

const STATE_REASONS: Partial<Record<RequestState, ErrorReason>> = {
  pending: 'approval_pending',
  blocked: 'approval_rejected',
  consumed: 'approval_used',
  expired: 'approval_expired',
  superseded: 'approval_superseded',
  withdrawn: 'approval_withdrawn',
}

const stateFault = ({ id, reason: told }: GateRequest, state: RequestState): UseFault => {
  const reason = STATE_REASONS[state]
  return {
    message: `request ${id} is ${state}${told === undefined ? '' : ` (${told})`}`,
    ...(reason !== undefined && { reason }),
    ...(state === 'pending' && { next: `shoal gates approve ${id}` }),
  }
}

const voteOf = (
  { personId, keyId, roles }: GatePerson,
  decision: Vote['decision'],
  at: number,
  reason: string,
): Vote => ({ personId, keyId, roles, decision, at, reason })
