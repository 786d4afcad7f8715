import type {
  ListTasksRequest,
  ListTasksResponse,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk'
import type { TaskCaller } from '../../kernel/declaration/context.ts'
import type { Tasks } from './tasks.ts'

export interface TaskViews {
  tasks: SeenTasks
}

/** Tasks that the caller sees. */
interface SeenTasks extends Pick<Tasks, 'run' | 'runs' | 'transitions'> {
  get(taskId: string, by: TaskCaller): Promise<Task>
  list(request: ListTasksRequest, by: TaskCaller): Promise<ListTasksResponse>
  cancel(taskId: string, by: TaskCaller): Promise<Task>
  hooks: TaskHookRegistry
}

/** Webhooks for the events of tasks; shown secrets are masked. */
interface TaskHookRegistry {
  /** Throws `invalid_request` for an address that is not sent to, and for one hook too many. */
  save(
    taskId: string,
    tenantId: string,
    hook: TaskPushNotificationConfig,
    version: '1.0',
    keyId: string,
  ): Promise<TaskPushNotificationConfig>
  list(taskId: string, tenantId: string): Promise<TaskPushNotificationConfig[]>
  remove(taskId: string, tenantId: string, hookId: string): Promise<void>
}
