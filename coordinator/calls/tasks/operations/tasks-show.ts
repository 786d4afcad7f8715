import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { TaskViews } from '../task-views.ts'
import { TaskDetail, TaskId, taskDetailOf } from './task-view.ts'

export default defineOperation({
  id: 'tasks-show',
  description: 'Show one task and its result.',
  method: 'GET',
  path: '/v1/tasks/{task_id}',
  access: 'key',
  effect: 'read',
  input: z.strictObject({ task_id: TaskId }),
  answers: { kind: 'task' },
  output: TaskDetail,
  run: async ({ task_id }, context: Context & TaskViews) => {
    const task = await context.tasks.get(task_id, context)
    return taskDetailOf(task, await context.tasks.run(task_id))
  },
})
