import type {
  AgentCard,
  ListTasksRequest,
  Message,
  SendMessageRequest,
  StreamResponse,
  Task,
} from '@a2a-js/sdk'
import {
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import { type ErrorCode, ShoalError } from '../../shared/errors.ts'
import type { OperationTasks } from '../operations/operation-tasks.ts'
import type { ReaderOf } from '../operations/task-readers.ts'
import type { Subscription } from '../tasks/subscription.ts'
import { isFinal, isSettled, TaskState } from '../tasks/task-state.ts'
import type { Tasks } from '../tasks/tasks.ts'
import type { Begun } from '../tasks/turns.ts'
import { type Call, tenantFor } from './call.ts'
import type { Executor } from './executor.ts'
import { EXTENSIONS } from './extensions.ts'
import { hookHandlers } from './push/hook-handlers.ts'
import type { PushConfigs } from './push/push-configs.ts'
import { checkedMessage, historyLengthOf, pageSizeOf } from './request-checks.ts'
import { withHistory, withTransitions } from './shown-task.ts'

export interface RequestHandlerParts {
  tasks: Tasks
  readerOf: ReaderOf
  cancel: OperationTasks['cancel']
  executor: Executor
  push: PushConfigs
  card: () => AgentCard
  /** What a key may call. */
  extendedCard: (call: Call) => AgentCard
}

/** Of each task in a list, the newest. */
const LISTED_TRANSITIONS = 100

/**
 * The methods of A2A for one call; both versions and both bindings end here. The tenant is the
 * key's: a request that names another one is refused, and a task of another one is not found.
 */
export const requestHandler = (parts: RequestHandlerParts, call: Call): A2ARequestHandler => {
  const { tasks, push } = parts
  const asksForTransitions = call.extensions.includes(EXTENSIONS.transitions)
  const reader = (tenantId: string) => parts.readerOf({ ...call, tenantId })

  const found = async (taskId: string, tenant: string): Promise<Task> => {
    // before 1.0 ids come as they were sent
    if (typeof taskId !== 'string' || taskId.trim() === '')
      throw new RequestMalformedError('the task id is missing')
    const unknown = () => new TaskNotFoundError(`Task not found: ${taskId}`)
    return reworded(tasks.get(taskId, reader(tenant)), 'not_found', unknown)
  }

  /** The task that a message goes on with: it must wait for one. */
  const previousOf = async (message: Message, tenant: string) => {
    if (message.taskId === '') return undefined
    const task = await found(message.taskId, tenant)
    const state = task.status?.state
    if (isFinal(state))
      throw new UnsupportedOperationError(`task ${task.id} has come to its end; begin another`)
    if (message.contextId !== '' && message.contextId !== task.contextId)
      throw new RequestMalformedError(`task ${task.id} is not part of this context`)
    if (state !== TaskState.TASK_STATE_INPUT_REQUIRED || tasks.isRunning(task.id))
      throw new UnsupportedOperationError(`task ${task.id} takes no message while it is at work`)
    return { task, run: await tasks.run(task.id) }
  }

  /** Makes the task or finds the one that the same message made; nothing runs yet. */
  const accept = async (
    request: SendMessageRequest,
  ): Promise<{ message: Message } | { begun: Begun; tenant: string }> => {
    const message = checkedMessage(request.message)
    historyLengthOf(request.configuration?.historyLength)
    const tenant = call.key === undefined ? '' : tenantFor(call, request.tenant)
    const own = { ...call, tenantId: call.key === undefined ? undefined : tenant }
    const before = call.key && (await tasks.taken(call.key.id, message))
    if (before !== undefined)
      return { begun: { taskId: before, again: true, start: () => {} }, tenant }
    const previous = await previousOf(message, tenant)
    const metadata = request.metadata ?? {}
    const answer = await parts.executor({ message, metadata, call: own, previous })
    if (answer.kind === 'message') return { message: answer.message }
    const { run, work } = answer
    const hook = request.configuration?.taskPushNotificationConfig
    if (hook !== undefined && call.key === undefined)
      throw new ShoalError('auth_required', 'a hook needs a key')
    const begun =
      previous === undefined
        ? await tasks.begin({
            run: { ...run, tenantId: tenant, keyId: call.key?.id, requestId: call.requestId },
            contextId: message.contextId || undefined,
            ...{ message, work, metadata: answer.metadata },
          })
        : // two messages for one task at once: one of them is too late
          await reworded(
            tasks.goOn(previous.task.id, tenant, {
              ...{ message, work },
              // from now on it is this key's: what it may do is what the task may do
              run: { ...run, keyId: call.key?.id, requestId: call.requestId },
              actor: `key:${call.key?.id}`,
            }),
            'conflict',
            text => new UnsupportedOperationError(text),
          )
    if (hook !== undefined && call.key !== undefined && !begun.again)
      await saveHook(begun, tenant, { ...hook, taskId: begun.taskId }, call.key.id)
    return { begun, tenant }
  }

  /** A hook that is refused ends the task before it has begun. */
  const saveHook = async (
    { taskId }: Begun,
    tenant: string,
    hook: Parameters<PushConfigs['save']>[2],
    keyId: string,
  ): Promise<void> => {
    try {
      await push.save(taskId, tenant, hook, call.version, keyId)
    } catch (error) {
      await tasks.cancel(taskId, tenant, 'coordinator')
      throw error
    }
  }

  const shown = async (task: Task, historyLength?: number): Promise<Task> => {
    const cut = withHistory(task, historyLength)
    if (call.version === '1.0' && !asksForTransitions) return cut
    return withTransitions(cut, await tasks.transitions(task.id))
  }

  const sendMessage: A2ARequestHandler['sendMessage'] = async request => {
    const accepted = await accept(request)
    if ('message' in accepted) return accepted.message
    const { begun, tenant } = accepted
    const { historyLength, returnImmediately } = request.configuration ?? {}
    if (returnImmediately === true) {
      begun.start()
      return shown(await tasks.get(begun.taskId, reader(tenant)), historyLength)
    }
    const { task, events } = await tasks.follow(begun.taskId, reader(tenant))
    const leave = leaving(call, events)
    try {
      begun.start()
      const wasOver = begun.again && isSettled(task.status?.state)
      if (!wasOver) await untilSettled(events)
    } finally {
      leave()
      tasks.unfollow(begun.taskId, events)
    }
    return shown(await tasks.get(begun.taskId, reader(tenant)), historyLength)
  }

  async function* sendMessageStream(request: SendMessageRequest) {
    const accepted = await accept(request)
    if ('message' in accepted) {
      yield { payload: { $case: 'message', value: accepted.message } } as StreamResponse
      return
    }
    const { begun, tenant } = accepted
    yield* events(begun.taskId, tenant, {
      start: begun.start,
      historyLength: request.configuration?.historyLength,
      isOver: state => begun.again && state === TaskState.TASK_STATE_INPUT_REQUIRED,
    })
  }

  /** First the task as it is, then what happens to it. */
  async function* events(
    taskId: string,
    tenant: string,
    options: {
      start?: () => void
      historyLength?: number | undefined
      isOver?: (state: TaskState | undefined) => boolean
    } = {},
  ): AsyncGenerator<StreamResponse, void, undefined> {
    const { task, events } = await tasks.follow(taskId, reader(tenant))
    const leave = leaving(call, events)
    try {
      yield { payload: { $case: 'task', value: await shown(task, options.historyLength) } }
      options.start?.()
      const state = task.status?.state
      if (isFinal(state) || options.isOver?.(state) === true) return
      for (let event = await events.next(); event !== undefined; event = await events.next()) {
        yield event
        const now = stateIn(event)
        if (isFinal(now) || now === TaskState.TASK_STATE_INPUT_REQUIRED) return
      }
    } finally {
      // a client that leaves before it was begun must not keep the task from it
      options.start?.()
      leave()
      tasks.unfollow(taskId, events)
    }
  }

  async function* resubscribe({ id, tenant }: { id: string; tenant: string }) {
    const own = tenantFor(call, tenant)
    const { status } = await found(id, own)
    if (isFinal(status?.state))
      throw new UnsupportedOperationError(`task ${id} has come to its end`)
    yield* events(id, own)
  }

  const cancelTask: A2ARequestHandler['cancelTask'] = async ({ id, tenant }) => {
    const own = tenantFor(call, tenant)
    await found(id, own)
    const cancelled = parts.cancel(id, { ...call, tenantId: own })
    return shown(await reworded(cancelled, 'conflict', text => new TaskNotCancelableError(text)))
  }

  const listTasks: A2ARequestHandler['listTasks'] = async (request: ListTasksRequest) => {
    const own = tenantFor(call, request.tenant)
    const pageSize = pageSizeOf(request)
    const page = await tasks.list({ ...request, pageSize }, reader(own))
    const all = page.tasks.map(task => withHistory(task, request.historyLength))
    if (!asksForTransitions) return { ...page, tasks: all }
    const ids = all.map(({ id }) => id)
    const rows = await tasks.newestTransitions(ids, LISTED_TRANSITIONS)
    return { ...page, tasks: all.map(task => withTransitions(task, rows.get(task.id) ?? [])) }
  }

  /** Of a task that the caller sees. */
  const tenantOfTask = async (taskId: string, tenant: string) => {
    const own = tenantFor(call, tenant)
    await found(taskId, own)
    return own
  }

  return {
    sendMessage,
    sendMessageStream,
    resubscribe,
    cancelTask,
    listTasks,
    getAgentCard: async () => parts.card(),
    getAuthenticatedExtendedAgentCard: async ({ tenant }) => {
      const tenantId = tenantFor(call, tenant)
      return parts.extendedCard({ ...call, tenantId })
    },
    getTask: async ({ id, tenant, historyLength }) => {
      historyLengthOf(historyLength)
      return shown(await found(id, tenantFor(call, tenant)), historyLength)
    },
    ...hookHandlers({ push, call, tenantOf: tenantOfTask }),
  }
}

/** An error of ours in the words of the protocol. */
const reworded = async <T>(
  answer: Promise<T>,
  code: ErrorCode,
  worded: (message: string) => Error,
): Promise<T> => {
  try {
    return await answer
  } catch (error) {
    throw error instanceof ShoalError && error.code === code ? worded(error.message) : error
  }
}

/** Ends the events when the client leaves; the answer takes that back. */
const leaving = ({ signal }: Call, events: Subscription): (() => void) => {
  const close = (): void => events.close()
  signal.addEventListener('abort', close, { once: true })
  if (signal.aborted) close()
  return () => signal.removeEventListener('abort', close)
}

const stateIn = ({ payload }: StreamResponse): TaskState | undefined =>
  payload?.$case === 'statusUpdate' ? payload.value.status?.state : undefined

const untilSettled = async (events: Subscription): Promise<void> => {
  for (let event = await events.next(); event !== undefined; event = await events.next())
    if (isSettled(stateIn(event))) return
}
