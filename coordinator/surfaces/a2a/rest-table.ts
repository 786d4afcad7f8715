import type { V1Method } from './v1-methods.ts'

export interface RestRequest {
  /** Names in the path: task, config, tenant. */
  path: Record<string, string>
  query: Record<string, unknown>
  body: Record<string, unknown>
}

interface Row<Method> {
  method: 'GET' | 'POST' | 'DELETE'
  /** Path after `/a2a/rest/`. */
  path: RegExp
  call: Method
  params: (request: RestRequest) => Record<string, unknown>
  status?: number
}

const ID = '(?<task>[^/:]+)'
const HOOKS = `tasks/${ID}/pushNotificationConfigs`
const HOOK = `${HOOKS}/(?<config>[^/]+)`

const anchorPattern = (pattern: string): RegExp => new RegExp(`^${pattern}$`)

/** A query is text: whole numbers and yes or no are read as such. Anything else stays as it is. */
const number = (value: unknown): unknown =>
  value === undefined || value === '' ? undefined : Number(value)

const listParams = ({ query }: RestRequest) => ({
  contextId: query.contextId,
  status: query.status,
  pageToken: query.pageToken,
  statusTimestampAfter: query.statusTimestampAfter,
  includeArtifacts: query.includeArtifacts === 'true',
  pageSize: number(query.pageSize),
  historyLength: number(query.historyLength),
})

const row = <Method>(
  method: Row<Method>['method'],
  path: string,
  call: Method,
  params: Row<Method>['params'],
  status?: number,
): Row<Method> => ({ method, path: anchorPattern(path), call, params, ...(status && { status }) })

const task = ({ path }: RestRequest) => ({ id: path.task })
const hook = ({ path }: RestRequest) => ({ taskId: path.task, id: path.config })

/** HTTP+JSON 1.0 (A2A specification 1.0, section 11.3); each also below `/{tenant}/`. */
export const V1_TABLE: readonly Row<V1Method>[] = [
  row('POST', 'message:send', 'SendMessage', ({ body }) => body),
  row('POST', 'message:stream', 'SendStreamingMessage', ({ body }) => body),
  row('GET', 'tasks', 'ListTasks', listParams),
  row('GET', `tasks/${ID}`, 'GetTask', request => ({
    ...task(request),
    historyLength: number(request.query.historyLength),
  })),
  row('POST', `tasks/${ID}:cancel`, 'CancelTask', ({ path, body }) => ({ ...body, id: path.task })),
  row('GET', `tasks/${ID}:subscribe`, 'SubscribeToTask', task),
  row('POST', `tasks/${ID}:subscribe`, 'SubscribeToTask', task),
  row(
    'POST',
    HOOKS,
    'CreateTaskPushNotificationConfig',
    ({ path, body }) => ({
      ...body,
      taskId: path.task,
    }),
    201,
  ),
  row('GET', HOOKS, 'ListTaskPushNotificationConfigs', ({ path }) => ({ taskId: path.task })),
  row('GET', HOOK, 'GetTaskPushNotificationConfig', hook),
  row('DELETE', HOOK, 'DeleteTaskPushNotificationConfig', hook, 204),
  row('GET', 'extendedAgentCard', 'GetExtendedAgentCard', () => ({})),
]

export type LegacyName =
  | 'message/send'
  | 'message/stream'
  | 'tasks/get'
  | 'tasks/cancel'
  | 'tasks/resubscribe'
  | 'tasks/pushNotificationConfig/set'
  | 'tasks/pushNotificationConfig/get'
  | 'tasks/pushNotificationConfig/list'
  | 'tasks/pushNotificationConfig/delete'
  | 'agent/getAuthenticatedExtendedCard'

const oldHook = ({ path }: RestRequest) => ({
  id: path.task,
  pushNotificationConfigId: path.config,
})

/** HTTP+JSON 0.3 (A2A specification 0.3, section 3.5.3). */
export const LEGACY_TABLE: readonly Row<LegacyName>[] = [
  row('POST', 'v1/message:send', 'message/send', ({ body }) => body, 201),
  row('POST', 'v1/message:stream', 'message/stream', ({ body }) => body),
  row('GET', `v1/tasks/${ID}`, 'tasks/get', request => ({
    ...task(request),
    historyLength: number(request.query.historyLength ?? request.query.history_length),
  })),
  row('POST', `v1/tasks/${ID}:cancel`, 'tasks/cancel', task),
  row('GET', `v1/tasks/${ID}:subscribe`, 'tasks/resubscribe', task),
  row('POST', `v1/tasks/${ID}:subscribe`, 'tasks/resubscribe', task),
  row(
    'POST',
    `v1/${HOOKS}`,
    'tasks/pushNotificationConfig/set',
    ({ path, body }) => ({
      ...body,
      taskId: path.task,
    }),
    201,
  ),
  row('GET', `v1/${HOOKS}`, 'tasks/pushNotificationConfig/list', task),
  row('GET', `v1/${HOOK}`, 'tasks/pushNotificationConfig/get', oldHook),
  row('DELETE', `v1/${HOOK}`, 'tasks/pushNotificationConfig/delete', oldHook, 204),
  row('GET', 'v1/card', 'agent/getAuthenticatedExtendedCard', () => ({})),
]

export interface Match<Method> {
  row: Row<Method>
  path: Record<string, string>
}

/** The row of a path and method; without one, the methods that its path takes. */
export const matchRow = <Method>(
  table: readonly Row<Method>[],
  method: string,
  path: string,
): Match<Method> | { allowed: string[] } => {
  const fitting = table.filter(each => each.path.test(path))
  const found = fitting.find(each => each.method === method)
  if (found === undefined) return { allowed: [...new Set(fitting.map(each => each.method))] }
  return { row: found, path: { ...found.path.exec(path)?.groups } }
}
