import type { SendMessageRequest } from '@a2a-js/sdk'
import { RequestMalformedError, UnsupportedOperationError } from '@a2a-js/sdk/errors'
import { ShoalError } from '../../../../shared/errors.ts'
import type { Message, Task } from '../../../calls/tasks/task.ts'
import type { StartedTask } from '../../../calls/tasks/task-owner.ts'
import type { TaskRun } from '../../../calls/tasks/task-run.ts'
import { isFinal } from '../../../calls/tasks/task-state.ts'
import type { TaskWebhook } from '../../../calls/tasks/task-webhook.ts'
import { workOf } from '../../../calls/tasks/turn.ts'
import { messageFromA2a, webhookFromA2a } from '../a2a-shapes.ts'
import { tenantFor } from '../call.ts'
import type { Executor, ExecutorAnswer } from '../executor.ts'
import type { HideMessage } from '../hidden-message.ts'
import type { PushConfigs } from '../push/push-configs.ts'
import { checkMessage, historyLengthOf } from '../request-checks.ts'
import { rewordError } from './reword-error.ts'
import type { TaskScope } from './task-scope.ts'

export interface AcceptParts {
  executor: Executor
  /** Makes a message fit to be stored. */
  hideMessage: HideMessage
  push: Pick<PushConfigs, 'save'>
}

/** A message that was answered at once, or its task, of which nothing runs yet. */
export type AcceptedMessage =
  | { answer: Message }
  | { begun: StartedTask; tenant: string; message: Message }

type TaskAnswer = Extract<ExecutorAnswer, { kind: 'task' }>
interface Previous {
  task: Task
  run: TaskRun
}

/** Makes the task, continues one that waits, or finds the one that took the same message. */
export const acceptMessage = async (
  { executor, hideMessage, push }: AcceptParts,
  scope: TaskScope,
  request: SendMessageRequest,
): Promise<AcceptedMessage> => {
  const { call, tasks } = scope
  const given = messageFromA2a(checkMessage(request.message))
  const metadata = request.metadata ?? {}
  const message = hideMessage(given, metadata, await operationOf(scope, given))
  historyLengthOf(request.configuration?.historyLength)
  const tenant = call.key === undefined ? '' : tenantFor(call, request.tenant)
  const before = call.key && (await tasks.findAccepted(call.key.id, message))
  if (before !== undefined) return { begun: tasks.resumeAccepted(before), tenant, message }
  const previous = await previousOf(scope, message, tenant)
  const own = { ...call, tenantId: call.key === undefined ? undefined : tenant }
  const answer = await executor({ message: given, metadata, call: own, previous })
  if (answer.kind === 'message') return { answer: answer.message }
  const hook = request.configuration?.taskPushNotificationConfig
  if (hook !== undefined && call.key === undefined)
    throw new ShoalError('auth_required', 'a hook needs a key')
  const begun = await (previous === undefined
    ? beginTask(scope, message, tenant, answer)
    : continueTask(scope, message, tenant, { answer, previous }))
  if (hook !== undefined && !begun.again)
    await saveHook(push, scope, { ...webhookFromA2a(hook), taskId: begun.taskId }, tenant)
  return { begun, tenant, message }
}

/** Operation of the task that a message continues; undefined for other messages. */
const operationOf = async (
  { tasks }: TaskScope,
  { taskId }: Message,
): Promise<string | undefined> => {
  if (taskId === undefined) return undefined
  return (await tasks.runs([taskId])).get(taskId)?.operationId
}

/** The task that a message continues: it must wait for one. */
const previousOf = async (
  scope: TaskScope,
  message: Message,
  tenant: string,
): Promise<Previous | undefined> => {
  if (message.taskId === undefined) return undefined
  const task = await scope.find(message.taskId, tenant)
  const { state } = task.status
  if (isFinal(state))
    throw new UnsupportedOperationError(`task ${task.id} has ended; start a new one`)
  if (message.contextId !== undefined && message.contextId !== task.contextId)
    throw new RequestMalformedError(`task ${task.id} is not part of this context`)
  if (state !== 'input-required')
    throw new UnsupportedOperationError(`task ${task.id} accepts no message while it is running`)
  return { task, run: await scope.tasks.run(task.id) }
}

const beginTask = (
  { call, tasks }: TaskScope,
  message: Message,
  tenantId: string,
  { run, opening, metadata }: TaskAnswer,
): Promise<StartedTask> =>
  tasks.begin({
    run: { ...run, tenantId, keyId: call.key?.id, requestId: call.requestId },
    contextId: message.contextId,
    message,
    metadata,
    work: workOf(opening),
  })

/** Transfers the task to the key of this message, whose rights apply from now on. */
const continueTask = (
  { call, tasks }: TaskScope,
  message: Message,
  tenantId: string,
  { answer: { run, opening }, previous }: { answer: TaskAnswer; previous: Previous },
): Promise<StartedTask> =>
  // of two messages for one task at once, one is too late
  rewordError(
    tasks.send(previous.task, tenantId, {
      message,
      actor: `key:${call.key?.id}`,
      run: { ...run, keyId: call.key?.id, requestId: call.requestId },
      opening,
    }),
    'conflict',
    text => new UnsupportedOperationError(text),
  )

/** A hook that is refused ends the task before it has begun. */
const saveHook = async (
  push: AcceptParts['push'],
  { call, tasks }: TaskScope,
  hook: TaskWebhook,
  tenantId: string,
): Promise<void> => {
  try {
    await push.save(tenantId, hook, call.version, call.key?.id ?? '')
  } catch (error) {
    await tasks.cancel(hook.taskId, tenantId, 'coordinator')
    throw error
  }
}
