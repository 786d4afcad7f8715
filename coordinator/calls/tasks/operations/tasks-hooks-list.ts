import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { TaskViews } from '../task-views.ts'
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
  run: async ({ task_id }, context: Context & TaskViews) => ({
    hooks: (await hooksOf(context, task_id)).map(hookViewOf),
  }),
})
