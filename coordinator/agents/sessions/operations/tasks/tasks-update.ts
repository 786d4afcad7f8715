import * as z from 'zod'
import { callerOf } from '../../../../access/gates/operations/gate-view.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { AgentViews } from '../../open.ts'
import { TASK_STATES } from '../../session.ts'
import { label, SessionView, sessionViewOf } from '../session-view.ts'

export default defineOperation({
  id: 'tasks-update',
  description:
    'Report progress on a task of yours, in the live session that holds its scope. This is the task that a scope is claimed for, not a running call.',
  method: 'POST',
  path: '/v1/sessions/tasks/{task_id}',
  access: 'key',
  effect: 'write',
  input: z.strictObject({
    task_id: label().describe('Your name for the task, such as `API-12`.'),
    scope: label(200).describe('Scope that your session holds, such as `repo:api`.'),
    state: z.enum(TASK_STATES).describe('Progress of the task.'),
  }),
  output: SessionView,
  examples: [{ scope: 'repo:api', state: 'in_review' }],
  run: async ({ task_id: taskId, scope, state }, context: Context & AgentViews) => {
    const note = { taskId, scope, state }
    const after = await context.agents.sessions.noteTask(callerOf(context), note)
    return sessionViewOf(after, context.now())
  },
})
