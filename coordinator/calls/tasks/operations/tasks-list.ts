import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { NextCursor, pageLimit } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { TaskViews } from '../task-views.ts'
import { TaskStateName, TaskView, taskViewOf } from './task-view.ts'

export default defineOperation({
  id: 'tasks-list',
  description: 'List the tasks of your tenant that your key may see, most recently changed first.',
  method: 'GET',
  path: '/v1/tasks',
  access: 'key',
  effect: 'read',
  input: z.strictObject({
    state: TaskStateName.exactOptional().describe('Only tasks in this state.'),
    context_id: z.string().max(128).exactOptional().describe('Only tasks of this conversation.'),
    cursor: z.string().max(512).default('').describe("Cursor from the previous page's `next`."),
    limit: pageLimit(100, 50),
  }),
  output: z.object({ tasks: z.array(TaskView), next: NextCursor }),
  run: async ({ state, context_id, cursor, limit }, context: Context & TaskViews) => {
    const { tasks } = context
    const page = await tasks.list(
      {
        state,
        contextId: context_id || undefined,
        cursor: cursor || undefined,
        limit,
      },
      context,
    )
    const runs = await tasks.runs(page.tasks.map(({ id }) => id))
    return {
      tasks: page.tasks.flatMap(task => {
        const run = runs.get(task.id)
        return run === undefined ? [] : [taskViewOf(task, run)]
      }),
      next: page.next ?? null,
    }
  },
})
