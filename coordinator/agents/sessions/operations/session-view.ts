import * as z from 'zod'
import { iso, isoOrNull } from '../../../../shared/time.ts'
import { escapeHidden } from '../../../../shared/visible.ts'
import { defineView } from '../../../kernel/declaration/define-view.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { agentClaimTable } from '../agent-claim.table.ts'
import {
  AGENT_TYPES,
  type AgentSession,
  endReasonOf,
  nextSteps,
  OUTCOMES,
  STEPS,
  VARIANTS,
} from '../session.ts'

/** Text for people: characters that are invisible or disguise other text are refused. */
export const label = (maxLength = 128) =>
  z
    .string()
    .min(1)
    .max(maxLength)
    .refine(text => escapeHidden(text) === text, 'has invisible characters')

const claimView = defineView(agentClaimTable, {
  scope: true,
  task_id: true,
  task_state: true,
  claimed_at: true,
})

export const SessionView = z.object({
  session_id: z.string(),
  /** Labels of the agent; the acting person is that of the key. */
  agent_id: z.string(),
  agent_type: z.enum(AGENT_TYPES),
  person_id: z.string(),
  roles: z.array(z.string()),
  variant: z.enum(VARIANTS),
  profile_id: z.string().nullable(),
  supervisor: z.string().nullable().describe('Session of the supervisor who confirms its checks.'),
  step: z.enum(STEPS).describe('Last completed step.'),
  next: z.array(z.enum(STEPS)).describe('Steps allowed next; empty when the session is over.'),
  live: z.boolean(),
  over_because: z.string().nullable(),
  outcome: z.enum(OUTCOMES).nullable(),
  claims: z.array(claimView.schema),
  waiting_check: z
    .object({
      action_type: z.string(),
      context: z.string().nullable(),
      request_id: z.string().nullable(),
    })
    .nullable()
    .describe('Check that the supervisor has to confirm.'),
  last_skill: z.string().nullable(),
  docked_at: z.iso.datetime(),
  seen_at: z.iso.datetime(),
  /** Time when the session ends unless a step is made. */
  idle_at: z.iso.datetime(),
  /** Latest end of the session. */
  expires_at: z.iso.datetime(),
  ended_at: z.iso.datetime().nullable(),
})

export const sessionViewOf = (session: AgentSession, now: number): z.input<typeof SessionView> => {
  const over = endReasonOf(session, now)
  const { waiting, endedAt } = session
  return {
    session_id: session.id,
    agent_id: session.agentId,
    agent_type: session.agentType,
    person_id: session.personId,
    roles: [...session.roles],
    variant: session.variant,
    profile_id: session.profileId ?? null,
    supervisor: session.supervisorId ?? null,
    step: session.step,
    next: nextSteps(session, now),
    live: over === undefined,
    over_because: over ?? null,
    outcome: session.outcome ?? (over === undefined ? null : 'expired'),
    claims: (over === undefined ? session.claims : []).map(claimView.of),
    waiting_check:
      waiting === undefined || over !== undefined
        ? null
        : {
            action_type: escapeHidden(waiting.actionType),
            context: waiting.context === undefined ? null : escapeHidden(waiting.context),
            request_id: waiting.requestId ?? null,
          },
    last_skill: session.lastSkill ?? null,
    docked_at: iso(session.dockedAt),
    seen_at: iso(session.seenAt),
    idle_at: iso(session.idleAt),
    expires_at: iso(session.expiresAt),
    ended_at: isoOrNull(endedAt),
  }
}

/** The field of every path that leads to one session. */
export const SESSION_ID = { session_id: Id }
