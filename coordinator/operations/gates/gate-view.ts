import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import type { Caller } from '../../gates/asking.ts'
import type { GateDefinition } from '../../gates/definition.ts'
import { isOwnSubject } from '../../gates/own-subject.ts'
import { canonical } from '../../gates/plan-hash.ts'
import { type GateRequest, publicStatus, REQUEST_STATES, stateAt } from '../../gates/request.ts'
import { openSeats } from '../../gates/seats.ts'
import { visible, visibleDeep } from '../../gates/visible.ts'
import type { Context } from '../context.ts'

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

export const RequestView = z.object({
  id: z.string(),
  gate_id: z.string(),
  status: Status,
  state: z.enum(REQUEST_STATES),
  /** Why it ended. */
  reason: z.string().nullable(),
  requester_id: z.string(),
  subject: z.string(),
  summary: z.string(),
  /** SHA-256 of the plan in canonical JSON. */
  plan_hash: z.string(),
  /** The plan as it was hashed, with all that hides made visible: this is what is approved. */
  plan_text: z.string(),
  evidence: z.json(),
  approvals_missing: z.int(),
  votes: z.array(Vote),
  created_at: z.iso.datetime(),
  /** When it ends unless it is decided, or, once approved, used. */
  expires_at: z.iso.datetime(),
})

const iso = (at: number): string => new Date(at).toISOString()

export const requestViewOf = (
  request: GateRequest,
  definition: GateDefinition | undefined,
  now: number,
): z.input<typeof RequestView> => {
  const state = stateAt(request, now)
  const approving = request.votes.filter(({ decision }) => decision === 'approve')
  return {
    id: request.id,
    gate_id: request.gateId,
    status: publicStatus(state),
    state,
    reason: request.reason === undefined ? null : visible(request.reason),
    requester_id: request.requesterId,
    subject: visible(request.subject),
    summary: visible(request.summary),
    plan_hash: request.planHash,
    plan_text: visible(canonical(request.plan, 'plan')),
    evidence: visibleDeep(request.evidence) as z.core.util.JSONType,
    approvals_missing: state === 'pending' ? openSeats(definition?.approvals ?? [], approving) : 0,
    votes: request.votes.map(vote => ({
      person_id: vote.personId,
      decision: vote.decision,
      roles: [...vote.roles],
      reason: visible(vote.reason),
      at: iso(vote.at),
    })),
    created_at: iso(request.createdAt),
    expires_at: iso(request.approvalExpiresAt ?? request.expiresAt),
  }
}

/** Who asks, as the gates need to know it. Throws `auth_required` without a key. */
export const callerOf = ({ key, tenantId, actor }: Context): Caller => {
  if (key === undefined || tenantId === undefined)
    throw new ShoalError('auth_required', 'this needs a key')
  const { personId, id: keyId, kind, roles } = key
  return { person: { personId, keyId, kind, roles }, tenantId, by: actor }
}

/** One request as its tenant may see it now. */
export const viewFor = (request: GateRequest, { gates, now }: Context) =>
  requestViewOf(request, gates.definitions[request.gateId], now())

export const Reason = z
  .string()
  .max(500)
  .default('')
  .describe('Why, in the words of who decides; kept in the audit.')
export const Subject = z
  .string()
  .min(1)
  .max(200)
  .refine(subject => !isOwnSubject(subject), 'is kept for what shoal asks by itself')
  .exactOptional()
  .describe('What it is about. A newer request of yours about it takes the place of an older one.')
export const Summary = z.string().min(1).max(500).describe('One line for those who approve.')
