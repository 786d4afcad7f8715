import * as z from 'zod'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { AgentViews } from '../open.ts'
import type { AgentSession } from '../session.ts'
import { SessionView, sessionViewOf } from './session-view.ts'

/** Limit of sessions that are searched. */
const LOOKED_AT = 1000

export default defineSkill({
  id: 'find-agent',
  group: 'agents',
  name: 'Find an agent',
  description: 'Find docked agents of the tenant, or the time when an agent was last seen.',
  tags: ['agents', 'sessions'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    agent_id: z
      .string()
      .max(128)
      .exactOptional()
      .describe('Only this agent, whether live or not; all live agents by default.'),
  }),
  output: z.object({
    data_state: DataState,
    truncated: z.boolean().describe('True when not all sessions were searched.'),
    agents: z.array(
      z.object({
        agent_id: z.string(),
        live: z.boolean(),
        seen_at: z.iso.datetime(),
        sessions: z.array(SessionView).describe('Live sessions of the agent, newest first.'),
        operator_roles: z.array(z.string()).describe('Operator roles that the agent holds now.'),
      }),
    ),
  }),
  examples: [{}],
  toLoad: 'an agent that docks: `shoal skills run sads-dock`; docs/agents.md',
  run: async ({ agent_id }, context: Context & AgentViews) => {
    const { sessions, peers } = context.agents
    const { tenantId } = callerOf(context)
    const now = context.now()
    const wanted = agent_id === undefined ? { liveAt: now } : { agentId: agent_id }
    const found = await sessions.list({ tenantId, limit: LOOKED_AT, ...wanted })
    const holders = await peers.holders(tenantId)
    const byAgent = Map.groupBy(found, ({ agentId }: AgentSession) => agentId)
    const agents = [...byAgent].map(([id, own]) => {
      const live = own.map(each => sessionViewOf(each, now)).filter(each => each.live)
      return {
        agent_id: id,
        live: live.length > 0,
        seen_at: new Date(Math.max(...own.map(({ seenAt }) => seenAt))).toISOString(),
        sessions: live,
        operator_roles: holders.filter(({ agentId }) => agentId === id).map(({ role }) => role),
      }
    })
    return { data_state: dataState(agents.length), truncated: found.length === LOOKED_AT, agents }
  },
})
