import * as z from 'zod'
import { callerOf } from '../gates/gate-view.ts'
import { defineOperation } from '../operation.ts'
import { label, SESSION_ID, SessionView, sessionViewOf } from './session-view.ts'

export default defineOperation({
  id: 'sessions-claim',
  description: 'Claim a scope for a session, the third step: only one live session holds it.',
  method: 'POST',
  path: '/v1/sessions/{session_id}/claim',
  access: 'key',
  effect: 'write',
  input: z.strictObject({
    ...SESSION_ID,
    scope: label(200).describe('What it will work on, such as `repo:api` or `cell:forge`.'),
    task_id: label().exactOptional().describe('The task that it is done for.'),
  }),
  output: SessionView,
  examples: [{ scope: 'repo:api', task_id: 'API-12' }],
  run: async ({ session_id, scope, task_id: taskId }, context) => {
    const claim = { scope, taskId }
    const after = await context.agents.sessions.claim(session_id, callerOf(context), claim)
    return sessionViewOf(after, context.now())
  },
})
