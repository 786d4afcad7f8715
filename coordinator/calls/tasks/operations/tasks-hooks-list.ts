import * as z from 'zod'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { HookView, hooksOf, hookViewOf } from './hook-view.ts'
import { TaskId } from './task-view.ts'

export default defineOperation({
  id: 'tasks-hooks-list',
  description: 'List the webhooks of a task (A2A push notification configurations).',
  method: 'GET',
  path: '/v1/tasks/{task_id}/hooks',
  access: 'key',
  effect: 'read',
  input: z.strictObject({ task_id: TaskId }),
  output: z.object({ hooks: z.array(HookView) }),
  run: async ({ task_id }, context) => ({
    hooks: (await hooksOf(context, task_id)).map(hookViewOf),
  }),
})
