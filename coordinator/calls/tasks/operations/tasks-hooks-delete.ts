import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { TaskViews } from '../task-views.ts'
import { HOOK_PATH, HookView, hookOf, hookViewOf, requireCallerTenant } from './hook-view.ts'

export default defineOperation({
  id: 'tasks-hooks-delete',
  description: 'Delete a webhook of a task.',
  method: 'DELETE',
  path: '/v1/tasks/{task_id}/hooks/{hook_id}',
  access: 'key',
  effect: 'write',
  tool: false,
  input: z.strictObject(HOOK_PATH),
  output: HookView,
  run: async (input, context: Context & TaskViews) => {
    const hook = await hookOf(context, input)
    await context.tasks.hooks.remove(input.task_id, requireCallerTenant(context), hook.id)
    return hookViewOf(hook)
  },
})
