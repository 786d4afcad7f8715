import {
  Message as A2aMessage,
  TaskState as A2aState,
  Task as A2aTask,
  StreamResponse,
  TaskPushNotificationConfig,
  taskStateToJSON,
} from '@a2a-js/sdk'
import * as z from 'zod'
import { Message, Task, type TaskEvent, TaskStatus } from '../../calls/tasks/task.ts'
import { StoredTaskState, type TaskState } from '../../calls/tasks/task-state.ts'
import type { TaskWebhook } from '../../calls/tasks/task-webhook.ts'

/*
 * Conversion between the coordinator's tasks and the types of A2A's library. Both sides have the
 * JSON of A2A 1.0: the library's as ProtoJSON, the coordinator's as the form in which it stores.
 */

/** Message of a client. The library's JSON is read once more, since that of 0.3 is not checked. */
export const messageFromA2a = (message: A2aMessage): Message =>
  Message.parse(A2aMessage.toJSON(A2aMessage.fromJSON(A2aMessage.toJSON(message))))

export const messageToA2a = (message: Message): A2aMessage =>
  A2aMessage.fromJSON(z.encode(Message, message))

export const taskToA2a = (task: Task): A2aTask => A2aTask.fromJSON(z.encode(Task, task))

/** An event, with the task it belongs to. */
export const eventToA2a = (
  event: TaskEvent,
  { id: taskId, contextId }: Pick<Task, 'id' | 'contextId'>,
): StreamResponse => {
  const place = { taskId, contextId }
  switch (event.kind) {
    case 'task':
      return { payload: { $case: 'task', value: taskToA2a(event.task) } }
    case 'status':
      return StreamResponse.fromJSON({
        statusUpdate: { ...place, status: z.encode(TaskStatus, event.status) },
      })
    case 'artifact': {
      const { artifact, append, lastChunk } = event
      return StreamResponse.fromJSON({ artifactUpdate: { ...place, artifact, append, lastChunk } })
    }
  }
}

/** State that a request names; undefined for one that names none. */
export const stateFromA2a = (state: A2aState): TaskState | undefined =>
  state === A2aState.TASK_STATE_UNSPECIFIED
    ? undefined
    : StoredTaskState.parse(taskStateToJSON(state))

export const webhookFromA2a = ({
  id,
  taskId,
  url,
  token,
  authentication,
}: TaskPushNotificationConfig): TaskWebhook => ({ id, taskId, url, token, authentication })

export const webhookToA2a = (webhook: TaskWebhook, tenant: string): TaskPushNotificationConfig =>
  TaskPushNotificationConfig.fromJSON({ ...webhook, tenant })
