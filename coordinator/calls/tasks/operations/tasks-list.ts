import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { NextCursor, pageLimit } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { toTaskState } from '../task-state.ts'
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
  run: async ({ state, context_id = '', cursor, limit }, context: Context & TaskViews) => {
    const { tasks } = context
    const page = await tasks
      .list(
        {
          tenant: '',
          contextId: context_id,
          status: state === undefined ? 0 : toTaskState(state),
          pageSize: limit,
          pageToken: cursor,
          historyLength: 0,
          statusTimestampAfter: undefined,
          includeArtifacts: false,
        },
        context,
      )
      .catch(refuseCursor)
    const runs = await tasks.runs(page.tasks.map(({ id }) => id))
    return {
      tasks: page.tasks.flatMap(task => {
        const run = runs.get(task.id)
        return run === undefined ? [] : [taskViewOf(task, run)]
      }),
      next: page.nextPageToken === '' ? null : page.nextPageToken,
    }
  },
})

/** Converts the library's own error for an invalid cursor. */
const refuseCursor = (error: Error): never => {
  if (error.name === 'RequestMalformedError')
    throw new ShoalError('invalid_request', 'the cursor is not from a previous page', {
      param: 'cursor',
    })
  throw error
}
