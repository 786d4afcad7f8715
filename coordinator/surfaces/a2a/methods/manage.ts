import type { ListTasksRequest } from '@a2a-js/sdk'
import { RequestMalformedError, TaskNotCancelableError } from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import type { OperationTasks } from '../../../calls/tasks/operation-tasks.ts'
import type { TaskFilter, TaskPage, TaskPageRequest } from '../../../calls/tasks/task-pages.ts'
import type { TaskReader } from '../../../calls/tasks/task-reader.ts'
import { stateFromA2a, taskToA2a } from '../a2a-shapes.ts'
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
    const filter = filterOf(request)
    const page = await readPage(scope, { ...filter, ...pageOf(request), limit: pageSize }, reader)
    const tasks = page.tasks.map(task => withHistory(task, request.historyLength))
    const newest = scope.asksForTransitions
      ? await scope.tasks.newestTransitions(
          tasks.map(({ id }) => id),
          LISTED_TRANSITIONS,
        )
      : undefined
    const shown = tasks.map(task =>
      newest === undefined ? task : withTransitions(task, newest.get(task.id) ?? []),
    )
    return {
      tasks: shown.map(taskToA2a),
      nextPageToken: page.next ?? '',
      pageSize,
      totalSize: await scope.tasks.count(filter, reader),
    }
  },

  cancelTask: async ({ id, tenant }) => {
    const tenantId = await scope.tenantOf(id, tenant)
    const cancelled = cancel(id, { ...scope.call, tenantId })
    return scope.show(
      await rewordError(cancelled, 'conflict', text => new TaskNotCancelableError(text)),
    )
  },
})

const filterOf = ({ contextId, status, statusTimestampAfter }: ListTasksRequest): TaskFilter => ({
  contextId: contextId || undefined,
  state: stateFromA2a(status),
  changedAfter: statusTimestampAfter ? Date.parse(statusTimestampAfter) : undefined,
})

const pageOf = ({ pageToken, includeArtifacts, historyLength }: ListTasksRequest) => ({
  cursor: pageToken || undefined,
  withArtifacts: includeArtifacts === true,
  withHistory: historyLength !== 0,
})

const readPage = (
  { tasks }: TaskScope,
  request: TaskPageRequest,
  reader: TaskReader,
): Promise<TaskPage> =>
  rewordError(
    tasks.list(request, reader),
    'invalid_request',
    text => new RequestMalformedError(text),
  )
