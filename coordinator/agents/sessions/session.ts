import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { iso } from '../../../shared/time.ts'
import type { EntityOf } from '../../kernel/store/define-table.ts'
import type { agentClaimTable } from './agent-claim.table.ts'
import type { agentSessionTable } from './agent-session.table.ts'

/** The seven steps of the protocol, in order. A session is at the last step it has made. */
export const STEPS = ['dock', 'brief', 'claim', 'check', 'execute', 'evidence', 'undock'] as const
export type SessionStep = (typeof STEPS)[number]

export const AGENT_TYPES = ['human', 'ai_agent', 'autonomous', 'ci_pipeline'] as const
export type AgentType = (typeof AGENT_TYPES)[number]

export const VARIANTS = ['solo', 'v1_multi_role', 'v2_parallel', 'v3_supervised'] as const
export type Variant = (typeof VARIANTS)[number]

/** Outcomes of a session. */
export const OUTCOMES = ['done', 'abandoned', 'expired'] as const
export type SessionOutcome = (typeof OUTCOMES)[number]

/** Progress of a task, as its agent reports it. */
export const TASK_STATES = ['todo', 'in_progress', 'blocked', 'in_review', 'done'] as const
export type AgentTaskState = (typeof TASK_STATES)[number]

/** Check that the policy allows and the supervisor has not confirmed yet. */
export const WaitingCheck = z.object({
  actionType: z.string(),
  context: z.string().optional(),
  /** Approval that was used for the check. */
  requestId: z.string().optional(),
})
export type WaitingCheck = z.infer<typeof WaitingCheck>

/** One docking of an agent, with the scopes that it holds. */
export interface AgentSession extends EntityOf<typeof agentSessionTable> {
  claims: readonly EntityOf<typeof agentClaimTable>[]
}

/** The steps that may follow each step; undocking may follow any of them. */
const FOLLOWING: Record<SessionStep, readonly SessionStep[]> = {
  dock: ['brief'],
  brief: ['claim'],
  claim: ['claim', 'check'],
  check: ['check', 'execute', 'evidence'],
  execute: ['check', 'execute', 'evidence'],
  evidence: ['claim'],
  undock: [],
}

type Times = Pick<AgentSession, 'idleAt' | 'expiresAt' | 'endedAt' | 'outcome'>

/** Reason why a session is over; undefined for a live one. */
export const endReasonOf = (session: Times, now: number): string | undefined => {
  const { idleAt, expiresAt, endedAt, outcome } = session
  const ran = expiresAt <= now ? 'its time limit was reached' : 'it was inactive for too long'
  const end = Math.min(idleAt, expiresAt)
  if (endedAt === undefined) return end > now ? undefined : `it has expired at ${iso(end)}: ${ran}`
  if (outcome !== 'expired') return `it was ${outcome} at ${iso(endedAt)}`
  return `it has expired at ${iso(endedAt)}`
}

/** Returns the steps that may follow; none for a session that is over. */
export const nextSteps = (
  session: Pick<AgentSession, 'step'> & Times,
  now: number,
): SessionStep[] =>
  endReasonOf(session, now) === undefined ? [...FOLLOWING[session.step], 'undock'] : []

/** Throws `conflict` when the session is over or another step has to come first. */
export const requireStep = (session: AgentSession, wanted: SessionStep, now: number): void => {
  const over = endReasonOf(session, now)
  if (over !== undefined)
    throw new ShoalError('conflict', `session ${session.id} is over: ${over}; dock again`)
  const next = nextSteps(session, now)
  if (next.includes(wanted)) return
  const may = next.join(', ')
  throw new ShoalError(
    'conflict',
    `${wanted} is out of order: session ${session.id} is at ${session.step}; allowed next: ${may}`,
  )
}

/** Throws `conflict`: a session is done only after it has provided evidence of its work. */
export const requireOutcome = ({ id, step }: AgentSession, outcome: SessionOutcome): void => {
  if (outcome !== 'done' || step === 'evidence') return
  throw new ShoalError(
    'conflict',
    `session ${id} is at ${step}: it is done after evidence; until then the outcome is abandoned`,
  )
}
