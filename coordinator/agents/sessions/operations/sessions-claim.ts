import * as z from 'zod'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { AgentViews } from '../open.ts'
import { label, SESSION_ID, SessionView, sessionViewOf } from './session-view.ts'

export default defineOperation({
  id: 'sessions-claim',
  description: 'Step 3 of 7: claim a scope for a session. Only one live session can hold a scope.',
  method: 'POST',
  path: '/v1/sessions/{session_id}/claim',
  access: 'key',
  effect: 'write',
  input: z.strictObject({
    ...SESSION_ID,
    scope: label(200).describe('Scope of the work, such as `repo:api` or `cell:forge`.'),
    task_id: label().exactOptional().describe('Task that the work belongs to.'),
  }),
  output: SessionView,
  examples: [{ scope: 'repo:api', task_id: 'API-12' }],
  run: async ({ session_id, scope, task_id: taskId }, context: Context & AgentViews) => {
    const claim = { scope, taskId }
    const after = await context.agents.sessions.claim(session_id, callerOf(context), claim)
    return sessionViewOf(after, context.now())
  },
})
