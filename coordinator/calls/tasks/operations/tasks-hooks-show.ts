import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { TaskViews } from '../task-views.ts'
import { HOOK_PATH, HookView, hookOf, hookViewOf } from './hook-view.ts'

export default defineOperation({
  id: 'tasks-hooks-show',
  description: 'Show one webhook of a task.',
  method: 'GET',
  path: '/v1/tasks/{task_id}/hooks/{hook_id}',
  access: 'key',
  effect: 'read',
  input: z.strictObject(HOOK_PATH),
  output: HookView,
  run: async (input, context: Context & TaskViews) => hookViewOf(await hookOf(context, input)),
})
