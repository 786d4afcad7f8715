import type * as z from 'zod'
import { escapeHidden } from '../../../../shared/visible.ts'
import type { GateViews } from '../../../access/gates/open.ts'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import type { CallViews } from '../../../calls/invoke/call-views.ts'
import { alertData } from '../../../fleet/alerts/alert.ts'
import type { MonitorViews } from '../../../fleet/alerts/open-monitor.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { ModelViews } from '../../../fleet/models/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import type { GateRequest } from '../../../kernel/declaration/gate-request.ts'
import type { AgentViews } from '../open.ts'
import { recommend } from '../recommend.ts'
import { type AgentRole, DEFAULT_ROLE, hasSkillAccess, listKnownRoles, rolesIn } from '../roles.ts'
import { STEPS } from '../session.ts'
import type { Briefing, Waiting } from './briefing-view.ts'
import { look } from './situation.ts'

/** Limit of requests and alerts in a briefing. */
const SHOWN = 20

/** The roles that were named, else those of the caller's newest live session, else the default. */
export const rolesFor = async (
  role: string | undefined,
  context: Context & AgentViews,
): Promise<{ roles: AgentRole[]; lastSkill: string | undefined }> => {
  const { person, tenantId } = callerOf(context)
  const { sessions } = context.agents
  const filter = { tenantId, personId: person.personId, liveAt: context.now(), limit: 1 }
  const [session] = await sessions.list(filter)
  if (role !== undefined) return { roles: rolesIn(role), lastSkill: session?.lastSkill }
  return session === undefined
    ? { roles: rolesIn(DEFAULT_ROLE), lastSkill: undefined }
    : { roles: listKnownRoles(session.roles), lastSkill: session.lastSkill }
}

export const createBriefing = async (
  roles: readonly AgentRole[],
  context: Context & CallViews & FleetViews & GateViews & ModelViews & MonitorViews,
  lastSkill: string | undefined,
): Promise<Briefing> => {
  const { situation, decidable, own, alerts, fleet } = await look(roles, context, lastSkill)
  const callable = context.skills.filter(
    ({ id }) => situation.callable.has(id) && hasSkillAccess(roles, id),
  )
  return {
    roles: roles.map(({ id, title, purpose, operator_role }) => ({
      id,
      title,
      purpose,
      operator_role,
    })),
    rules: rulesOf(roles, context),
    waits: {
      to_decide: decidable.slice(0, SHOWN).map(toWaitingView),
      yours: own.slice(0, SHOWN).map(toWaitingView),
      alerts: alerts?.slice(0, SHOWN).map(alertData) ?? null,
    },
    fleet,
    skills: callable.map(({ id, name, effect }) => ({ id, name, effect })),
    recommended: recommend(situation),
  }
}

/** Recommended next calls, by the current state. */
export const recommendationsFor = async (
  roles: readonly AgentRole[],
  context: Context & CallViews & FleetViews & GateViews & ModelViews & MonitorViews,
  lastSkill: string | undefined,
) => recommend((await look(roles, context, lastSkill)).situation)

const toWaitingView = (request: GateRequest): z.input<typeof Waiting> => ({
  request_id: request.id,
  gate_id: request.gateId,
  summary: escapeHidden(request.summary),
  state: request.state === 'approved' ? 'approved' : 'pending',
  expires_at: new Date(request.approvalExpiresAt ?? request.expiresAt).toISOString(),
})

const rulesOf = (
  roles: readonly AgentRole[],
  { policies, gates, key }: Context & GateViews,
): Briefing['rules'] => {
  const asker = key ?? { kind: 'autonomous' as const, roles: [] }
  const actions = [...new Set(roles.flatMap(role => role.actions))].map(action_type => {
    const { decision, gateId, reason } = policies.current().decide(action_type, asker)
    return { action_type, decision, gate_id: gateId ?? null, reason }
  })
  const ids = [...new Set(actions.flatMap(({ gate_id }) => gate_id ?? []))]
  return {
    steps: [...STEPS],
    policy_version: policies.current().version,
    actions,
    gates: ids.map(gate_id => {
      const { purpose, approvals } = gates.definition(gate_id)
      return { gate_id, purpose, approvals }
    }),
  }
}
