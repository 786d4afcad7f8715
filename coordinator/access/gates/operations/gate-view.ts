import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import { iso } from '../../../../shared/time.ts'
import { escapeHidden } from '../../../../shared/visible.ts'
import type { Caller } from '../../../kernel/declaration/caller.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { type GateRequest, REQUEST_STATES } from '../../../kernel/declaration/gate-request.ts'
import type { KeyViews } from '../../keys/open.ts'
import type { PeopleViews } from '../../people/open.ts'
import type { GateViews } from '../open.ts'
import { isOwnSubject } from '../own-subject.ts'
import { canonical } from '../plan-hash.ts'
import { publicStatus, stateAt } from '../request.ts'
import { openSeats } from '../seats.ts'
import { findApprovalHint } from './approval-hint.ts'

export const Status = z.enum(['approved', 'pending', 'blocked'])

/** Exit codes of the command line for a status; sysexits.h has 75 for "later", 77 for "no". */
export const STATUS_EXIT = { field: 'status', codes: { approved: 0, pending: 75, blocked: 77 } }

const Vote = z.object({
  person_id: z.string(),
  decision: z.enum(['approve', 'reject']),
  roles: z.array(z.string()),
  reason: z.string(),
  at: z.iso.datetime(),
})

/** Fields are ordered by importance: a list shows the first ones where space is short. */
export const RequestView = z.object({
  id: z.string(),
  state: z.enum(REQUEST_STATES),
  summary: z.string(),
  status: Status,
  gate_id: z.string(),
  requester: z
    .string()
    .nullable()
    .describe('Name of the requester; null once they are erased, and while it cannot be read.'),
  requester_id: z.string(),
  approvals_missing: z.int(),
  /** Reason why the request ended or can never pass. */
  reason: z.string().nullable(),
  subject: z.string(),
  /** SHA-256 of the plan in canonical JSON. */
  plan_hash: z.string(),
  /** The plan as it was hashed, with hidden characters made visible: this text is approved. */
  plan_text: z.string(),
  /** Supporting evidence as canonical JSON, made visible as the plan is; null without evidence. */
  evidence_text: z.string().nullable(),
  votes: z.array(Vote),
  created_at: z.iso.datetime(),
  /** Expiry of the request, or of its approval once it is approved. */
  expires_at: z.iso.datetime(),
  hint: z
    .string()
    .exactOptional()
    .describe('Only when no person can approve the request: what to do about it.'),
})

type RequestView = z.input<typeof RequestView>

/** Requests as their tenant may see them now, with the names of the requesters. */
export const viewAll = async (
  requests: readonly GateRequest[],
  context: Pick<Context, 'now'> & Pick<GateViews, 'gates'> & PeopleViews,
): Promise<RequestView[]> => {
  const ids = new Set(requests.map(({ requesterId }) => requesterId))
  // a decision is stored by now: a name that cannot be read must not hide it
  const names = await context.people.names([...ids]).catch(() => new Map<string, string>())
  return requests.map(request => {
    const name = names.get(request.requesterId)
    const requester = name === undefined ? null : escapeHidden(name)
    return { ...viewFor(request, context), requester }
  })
}

/** One request with the name of its requester. */
export const viewOne = async (
  request: GateRequest,
  context: Pick<Context, 'now'> & Pick<GateViews, 'gates'> & PeopleViews,
): Promise<RequestView> => {
  const [view] = await viewAll([request], context)
  return view as RequestView
}

/** One request with what to do when nobody can approve it. */
export const viewWithHint = async (
  request: GateRequest,
  context: Context & GateViews & KeyViews & PeopleViews,
): Promise<RequestView> => {
  const hint = await findApprovalHint(request, context)
  return { ...(await viewOne(request, context)), ...(hint === undefined ? {} : { hint }) }
}

/** One request as its tenant may see it now, without what has to be read. */
export const viewFor = (
  request: GateRequest,
  { gates, now }: Pick<Context, 'now'> & Pick<GateViews, 'gates'>,
): Omit<RequestView, 'requester'> => {
  const state = stateAt(request, now())
  const fault = gates.rulesFault(request)
  const reason = fault ?? request.reason
  return {
    id: request.id,
    state,
    summary: escapeHidden(request.summary),
    status: fault === undefined ? publicStatus(state) : 'blocked',
    gate_id: request.gateId,
    requester_id: request.requesterId,
    approvals_missing:
      state === 'pending' && fault === undefined ? countMissing(request, gates) : 0,
    reason: reason === undefined ? null : escapeHidden(reason),
    subject: escapeHidden(request.subject),
    plan_hash: request.planHash,
    plan_text: escapeHidden(canonical(request.plan, 'plan')),
    evidence_text:
      request.evidence === null ? null : escapeHidden(canonical(request.evidence, 'evidence')),
    votes: request.votes.map(vote => ({
      person_id: vote.personId,
      decision: vote.decision,
      roles: [...vote.roles],
      reason: escapeHidden(vote.reason),
      at: iso(vote.at),
    })),
    created_at: iso(request.createdAt),
    expires_at: iso(request.approvalExpiresAt ?? request.expiresAt),
  }
}

const countMissing = ({ gateId, votes }: GateRequest, gates: GateViews['gates']): number =>
  openSeats(
    gates.definition(gateId).approvals,
    votes.filter(({ decision }) => decision === 'approve'),
  )

/** The caller as the gates need it. Throws `auth_required` without a key. */
export const callerOf = ({
  key,
  tenantId,
  actor,
}: Pick<Context, 'tenantId' | 'actor' | 'key'>): Caller => {
  if (key === undefined || tenantId === undefined)
    throw new ShoalError('auth_required', 'this call needs a key')
  const { personId, id: keyId, kind, roles } = key
  return { person: { personId, keyId, kind, roles }, tenantId, by: actor }
}

export const Reason = z
  .string()
  .max(500)
  .default('')
  .describe('Reason for the decision, kept in the audit.')
export const GateSubject = z
  .string()
  .min(1)
  .max(200)
  .refine(subject => !isOwnSubject(subject), 'is reserved for requests of the coordinator')
  .exactOptional()
  .describe(
    'Subject of the request. A newer request of yours for the same subject replaces the older one.',
  )
export const Summary = z.string().min(1).max(500).describe('One-line summary for approvers.')
