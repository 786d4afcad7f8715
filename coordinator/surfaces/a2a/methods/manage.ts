import { TaskNotCancelableError } from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import type { OperationTasks } from '../../../calls/tasks/operation-tasks.ts'
import { tenantFor } from '../call.ts'
import { historyLengthOf, pageSizeOf } from '../request-checks.ts'
import { withHistory, withTransitions } from '../shown-task.ts'
import { rewordError } from './reword-error.ts'
import type { TaskScope } from './task-scope.ts'

/** Newest transitions that are shown of each task in a list. */
const LISTED_TRANSITIONS = 100

/** The methods that read, list and cancel tasks. */
export const manageMethods = (
  scope: TaskScope,
  cancel: OperationTasks['cancel'],
): Pick<A2ARequestHandler, 'getTask' | 'listTasks' | 'cancelTask'> => ({
  getTask: async ({ id, tenant, historyLength }) => {
    historyLengthOf(historyLength)
    return scope.show(await scope.find(id, tenantFor(scope.call, tenant)), historyLength)
  },

  listTasks: async request => {
    const reader = scope.reader(tenantFor(scope.call, request.tenant))
    const pageSize = pageSizeOf(request)
    const page = await scope.tasks.list({ ...request, pageSize }, reader)
    const tasks = page.tasks.map(task => withHistory(task, request.historyLength))
    if (!scope.asksForTransitions) return { ...page, tasks }
    const ids = tasks.map(({ id }) => id)
    const rows = await scope.tasks.newestTransitions(ids, LISTED_TRANSITIONS)
    return { ...page, tasks: tasks.map(task => withTransitions(task, rows.get(task.id) ?? [])) }
  },

  cancelTask: async ({ id, tenant }) => {
    const tenantId = await scope.tenantOf(id, tenant)
    const cancelled = cancel(id, { ...scope.call, tenantId })
    return scope.show(
      await rewordError(cancelled, 'conflict', text => new TaskNotCancelableError(text)),
    )
  },
})
