import * as z from 'zod'
import { TASK_STATES } from '../../agents/session.ts'
import { callerOf } from '../gates/gate-view.ts'
import { defineOperation } from '../operation.ts'
import { label, SessionView, sessionViewOf } from '../sessions/session-view.ts'

export default defineOperation({
  id: 'tasks-update',
  description:
    'Say how far a task of yours is, in the live session that holds its scope. It is the task that a scope is claimed for, not a call that runs.',
  method: 'POST',
  path: '/v1/sessions/tasks/{task_id}',
  access: 'key',
  effect: 'write',
  input: z.strictObject({
    task_id: label().describe('Your name of it, such as `API-12`.'),
    scope: label(200).describe('A scope that your session holds, such as `repo:api`.'),
    state: z.enum(TASK_STATES).describe('How far it is.'),
  }),
  output: SessionView,
  examples: [{ scope: 'repo:api', state: 'in_review' }],
  run: async ({ task_id: taskId, scope, state }, context) => {
    const note = { taskId, scope, state }
    const after = await context.agents.sessions.noteTask(callerOf(context), note)
    return sessionViewOf(after, context.now())
  },
})
