import * as z from 'zod'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { findCursorRow, NextCursor, PAGE } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { AgentViews } from '../open.ts'
import { SessionView, sessionViewOf } from './session-view.ts'

export default defineOperation({
  id: 'sessions-list',
  description: 'List your own sessions, newest first.',
  method: 'GET',
  path: '/v1/sessions',
  access: 'key',
  effect: 'read',
  input: z.strictObject({
    agent_id: z.string().max(128).exactOptional().describe('Only sessions of this agent.'),
    live: z.boolean().default(false).describe('Only sessions that are not over.'),
    ...PAGE,
  }),
  output: z.object({ sessions: z.array(SessionView), next: NextCursor }),
  run: async ({ agent_id, live, before, limit }, context: Context & AgentViews) => {
    const { person, tenantId } = callerOf(context)
    const now = context.now()
    const found = await context.agents.sessions.list({
      tenantId,
      personId: person.personId,
      limit,
      ...(agent_id === undefined ? {} : { agentId: agent_id }),
      ...(live ? { liveAt: now } : {}),
      ...(before === undefined ? {} : { before }),
    })
    const next = findCursorRow(found, limit)?.id ?? null
    return { sessions: found.map(session => sessionViewOf(session, now)), next }
  },
})
