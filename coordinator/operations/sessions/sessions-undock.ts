import * as z from 'zod'
import { callerOf } from '../gates/gate-view.ts'
import { defineOperation } from '../operation.ts'
import { SESSION_ID, SessionView, sessionViewOf } from './session-view.ts'

export default defineOperation({
  id: 'sessions-undock',
  description: 'End a session, the seventh step; it is done only after evidence.',
  method: 'POST',
  path: '/v1/sessions/{session_id}/undock',
  access: 'key',
  effect: 'write',
  input: z.strictObject({
    ...SESSION_ID,
    outcome: z
      .enum(['done', 'abandoned'])
      .default('done')
      .describe('`abandoned` ends it at any step.'),
  }),
  output: SessionView,
  examples: [{ outcome: 'done' }],
  run: async ({ session_id, outcome }, context) => {
    const after = await context.agents.sessions.undock(session_id, callerOf(context), outcome)
    return sessionViewOf(after, context.now())
  },
})
