import * as z from 'zod'
import type { GateViews } from '../../../access/gates/open.ts'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import type { CallViews } from '../../../calls/invoke/call-views.ts'
import type { ModelViews } from '../../../fleet/models/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { AgentViews } from '../open.ts'
import { listAgentRoles } from '../roles.ts'
import { AGENT_TYPES, type AgentType, STEPS, VARIANTS } from '../session.ts'
import { recommendVariant } from '../variant.ts'
import { label } from './session-view.ts'
import { callableIds } from './situation.ts'

/** More than a tenant has by default; one more changes no recommendation. */
const LOOKED_AT = 1000

export default defineSkill({
  id: 'sads-discover',
  group: 'agents',
  name: 'Discover agent services',
  description:
    'Show the roles and variants an agent can dock with, the skills its key may call, and the recommended variant.',
  tags: ['agents', 'sessions', 'discovery'],
  access: 'key',
  effect: 'read',
  input: z.strictObject({
    agent_id: label().default('unknown').describe('Name of the agent.'),
    agent_type: z
      .string()
      .max(64)
      .default('ai_agent')
      .refine(
        type => AGENT_TYPES.some(each => each === type),
        `is one of ${AGENT_TYPES.join(', ')}`,
      )
      .describe('Declared type of the agent.'),
  }),
  output: z.object({
    agent_id: z.string(),
    agent_type: z.enum(AGENT_TYPES),
    capabilities: z.object({
      steps: z.array(z.enum(STEPS)),
      variants: z.array(z.enum(VARIANTS)),
      profiles: z.array(z.object({ id: z.string(), title: z.string() })),
      skills: z.array(z.string()).describe('Ids of the skills that this key may call.'),
      skills_registered: z.int(),
      gates: z.array(z.string()),
      models: z.array(z.string()).describe('Models of the catalogue.'),
    }),
    roles: z.array(
      z.object({
        id: z.string(),
        title: z.string(),
        purpose: z.string(),
        operator_role: z.string(),
        skills: z.array(z.string()).describe('Skills of the role that this key may call.'),
      }),
    ),
    queue_status: z.object({ open_claims: z.int(), live_sessions: z.int() }),
    recommended_variant: z.enum(VARIANTS),
    reason: z.string(),
  }),
  examples: [{ agent_id: 'fixer', agent_type: 'ai_agent' }],
  run: async (
    { agent_id, agent_type },
    context: Context & AgentViews & CallViews & GateViews & ModelViews,
  ) => {
    const { agents, skills, gates, catalogue } = context
    const { person, tenantId } = callerOf(context)
    const type = agent_type as AgentType
    const callable = callableIds(context)
    const live = await agents.sessions.list({ tenantId, liveAt: context.now(), limit: LOOKED_AT })
    const { variant, reason } = recommendVariant(type, agent_id, person.personId, live)
    const callableOf = (ids: readonly string[]): string[] =>
      skills
        .map(({ id }) => id)
        .filter(id => callable.has(id) && (ids.includes('*') || ids.includes(id)))
    return {
      agent_id,
      agent_type: type,
      capabilities: {
        steps: [...STEPS],
        variants: [...VARIANTS],
        profiles: Object.entries(agents.profiles).map(([id, { title }]) => ({ id, title })),
        skills: callableOf(['*']),
        skills_registered: skills.length,
        gates: Object.keys(gates.definitions),
        models: catalogue.map(({ id }) => id),
      },
      roles: listAgentRoles().map(({ id, title, purpose, operator_role, skills: own }) => ({
        id,
        title,
        purpose,
        operator_role,
        skills: callableOf(own),
      })),
      queue_status: {
        open_claims: await agents.sessions.countClaims(tenantId),
        live_sessions: await agents.sessions.countLive(tenantId),
      },
      recommended_variant: variant,
      reason,
    }
  },
})
