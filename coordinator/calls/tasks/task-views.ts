import type { TaskCaller } from '../../kernel/declaration/context.ts'
import type { Task } from './task.ts'
import type { TaskPage, TaskPageRequest } from './task-pages.ts'
import type { TaskWebhook } from './task-webhook.ts'
import type { Tasks } from './tasks.ts'

export interface TaskViews {
  tasks: SeenTasks
}

/** Tasks that the caller sees. */
interface SeenTasks extends Pick<Tasks, 'run' | 'runs' | 'transitions'> {
  get(taskId: string, by: TaskCaller): Promise<Task>
  list(request: TaskPageRequest, by: TaskCaller): Promise<TaskPage>
  cancel(taskId: string, by: TaskCaller): Promise<Task>
  hooks: TaskHookRegistry
}

/** Webhooks for the events of tasks; shown secrets are masked. */
interface TaskHookRegistry {
  /** Throws `invalid_request` for an address that is not sent to, and for one hook too many. */
  save(
    tenantId: string,
    /** `id` is empty for a new one. */
    hook: TaskWebhook,
    version: '1.0',
    keyId: string,
  ): Promise<TaskWebhook>
  list(taskId: string, tenantId: string): Promise<TaskWebhook[]>
  remove(taskId: string, tenantId: string, hookId: string): Promise<void>
}
