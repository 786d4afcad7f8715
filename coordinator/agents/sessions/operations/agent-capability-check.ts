import * as z from 'zod'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import type { KeyViews } from '../../../access/keys/open.ts'
import { accessFault } from '../../../calls/invoke/access.ts'
import type { CallViews } from '../../../calls/invoke/call-views.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import type { SkillFacts } from '../../../kernel/declaration/declaration.ts'
import { Id } from '../../../kernel/declaration/fields.ts'
import { defineNeededField } from '../../../kernel/declaration/needed-field.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { AgentViews } from '../open.ts'
import { hasSkillAccess, listKnownRoles } from '../roles.ts'
import type { AgentSession } from '../session.ts'

const LOOKED_AT = 200

export default defineSkill({
  id: 'agent-capability-check',
  group: 'agents',
  name: 'Agent capability check',
  description: 'Check whether a docked agent may call a skill in its session and, if not, why not.',
  tags: ['agents', 'sessions', 'access'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    agent_id: defineNeededField(z.string().max(128), 'Id of the agent.'),
    skill: defineNeededField(Id, 'Id of the skill.'),
  }),
  output: z.object({
    agent_id: z.string(),
    skill: z.string(),
    capable: z.boolean().describe('True when one of its live sessions may call the skill.'),
    reason: z.string().nullable().describe('Reason for the refusal.'),
    sessions: z.array(
      z.object({
        session_id: z.string(),
        roles: z.array(z.string()),
        capable: z.boolean(),
        reason: z.string().nullable(),
      }),
    ),
  }),
  examples: [{ agent_id: 'watcher', skill: 'policy-check' }],
  run: async ({ agent_id, skill: id }, context: Context & AgentViews & CallViews & KeyViews) => {
    const skill = context.skills.find(each => each.id === id)
    if (skill === undefined) throw createUnknownError('skill', id, { param: 'skill' })
    const { tenantId } = callerOf(context)
    const filter = { tenantId, agentId: agent_id, liveAt: context.now(), limit: LOOKED_AT }
    const live = await context.agents.sessions.list(filter)
    const sessions = await Promise.all(
      live.map(async session => {
        const reason = (await findCapabilityFault(session, skill, context)) ?? null
        return {
          session_id: session.id,
          roles: [...session.roles],
          capable: reason === null,
          reason,
        }
      }),
    )
    const capable = sessions.some(each => each.capable)
    const none = `${agent_id} has no live session`
    const reason = capable ? null : (sessions[0]?.reason ?? none)
    return { agent_id, skill: id, capable, reason, sessions }
  },
})

/** Reads the key again: it may have been revoked since the agent docked. */
const findCapabilityFault = async (
  { keyId, roles }: AgentSession,
  skill: SkillFacts,
  { keys }: KeyViews,
): Promise<string | undefined> => {
  const key = await keys.asNow(keyId)
  if (key === undefined) return 'its key is no longer valid'
  if (!hasSkillAccess(listKnownRoles(roles), skill.id))
    return `${skill.id} is not a skill of the session: ${roles.join(', ')}`
  return accessFault(skill, key)
}
