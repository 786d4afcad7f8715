import type { Task as A2aTask } from '@a2a-js/sdk'
import { RequestMalformedError, TaskNotFoundError } from '@a2a-js/sdk/errors'
import type { Task } from '../../../calls/tasks/task.ts'
import type { TaskReader } from '../../../calls/tasks/task-reader.ts'
import type { ReaderOf } from '../../../calls/tasks/task-readers.ts'
import type { Tasks } from '../../../calls/tasks/tasks.ts'
import { taskToA2a } from '../a2a-shapes.ts'
import { type A2aCall, tenantFor } from '../call.ts'
import { EXTENSIONS } from '../extensions.ts'
import { withHistory, withTransitions } from '../shown-task.ts'
import { rewordError } from './reword-error.ts'

export interface TaskScopeParts {
  tasks: Tasks
  readerOf: ReaderOf
}

/** Tasks as one call sees them. */
export class TaskScope {
  readonly call: A2aCall
  readonly tasks: Tasks
  readonly #readerOf: ReaderOf

  constructor({ tasks, readerOf }: TaskScopeParts, call: A2aCall) {
    this.call = call
    this.tasks = tasks
    this.#readerOf = readerOf
  }

  get asksForTransitions(): boolean {
    return this.call.extensions.includes(EXTENSIONS.transitions)
  }

  reader(tenantId: string): TaskReader {
    return this.#readerOf({ ...this.call, tenantId })
  }

  async find(taskId: string, tenant: string): Promise<Task> {
    // before 1.0 ids come as they were sent
    if (typeof taskId !== 'string' || taskId.trim() === '')
      throw new RequestMalformedError('the task id is missing')
    const createNotFoundError = () => new TaskNotFoundError(`Task not found: ${taskId}`)
    return rewordError(
      this.tasks.get(taskId, this.reader(tenant)),
      'not_found',
      createNotFoundError,
    )
  }

  /** Tenant of the call. Throws for a task that the caller does not see. */
  async tenantOf(taskId: string, tenant: string): Promise<string> {
    const own = tenantFor(this.call, tenant)
    await this.find(taskId, own)
    return own
  }

  /** The task as it is now, in the form that the client asked for. */
  async showNow(taskId: string, tenant: string, historyLength?: number): Promise<A2aTask> {
    return this.show(await this.tasks.get(taskId, this.reader(tenant)), historyLength)
  }

  async show(task: Task, historyLength?: number): Promise<A2aTask> {
    const cut = withHistory(task, historyLength)
    if (this.call.version === '1.0' && !this.asksForTransitions) return taskToA2a(cut)
    return taskToA2a(withTransitions(cut, await this.tasks.transitions(task.id)))
  }
}
