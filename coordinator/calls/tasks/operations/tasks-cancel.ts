import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { TaskViews } from '../task-views.ts'
import { TaskDetail, TaskId, taskDetailOf } from './task-view.ts'

export default defineOperation({
  id: 'tasks-cancel',
  description: 'Cancel a running task and withdraw its pending approval requests.',
  method: 'POST',
  path: '/v1/tasks/{task_id}/cancel',
  access: 'key',
  effect: 'write',
  input: z.strictObject({ task_id: TaskId }),
  output: TaskDetail,
  run: async ({ task_id }, context: Context & TaskViews) => {
    const task = await context.tasks.cancel(task_id, context)
    return taskDetailOf(task, await context.tasks.run(task_id))
  },
})
