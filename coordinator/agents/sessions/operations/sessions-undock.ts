import * as z from 'zod'
import { callerOf } from '../../../access/gates/operations/gate-view.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { AgentViews } from '../open.ts'
import { SESSION_ID, SessionView, sessionViewOf } from './session-view.ts'

export default defineOperation({
  id: 'sessions-undock',
  description: 'Step 7 of 7: end a session. It counts as done only after evidence was submitted.',
  method: 'POST',
  path: '/v1/sessions/{session_id}/undock',
  access: 'key',
  effect: 'write',
  input: z.strictObject({
    ...SESSION_ID,
    outcome: z
      .enum(['done', 'abandoned'])
      .default('done')
      .describe('Outcome of the session; `abandoned` ends it at any step.'),
  }),
  output: SessionView,
  examples: [{ outcome: 'done' }],
  run: async ({ session_id, outcome }, context: Context & AgentViews) => {
    const after = await context.agents.sessions.undock(session_id, callerOf(context), outcome)
    return sessionViewOf(after, context.now())
  },
})
