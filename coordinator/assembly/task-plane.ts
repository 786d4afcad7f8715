import type { Logger } from 'pino'
import type { A2aParts } from '../a2a/a2a-routes.ts'
import { pushQueue } from '../a2a/push/push-queue.ts'
import type { CoordinatorConfig } from '../config.ts'
import type { Events } from '../events/bus.ts'
import type { TaskViews, Views } from '../operations/context.ts'
import type { Pipeline } from '../operations/invoke/invoke.ts'
import type { Operation } from '../operations/operation.ts'
import { createOperationTasks } from '../operations/operation-tasks.ts'
import { taskReaders } from '../operations/task-readers.ts'
import type { Store } from '../store/store.ts'
import { createTasks } from '../tasks/tasks.ts'
import type { Outward } from './outward.ts'

export interface TaskPlaneParts {
  config: CoordinatorConfig
  store: Store
  events: Events
  operations: readonly Operation[]
  /** Asked for when a task runs: the views hold the tasks. */
  views: () => Views
  perform: Pipeline['perform']
  /** Where what happens to tasks is put, for their hooks. */
  outward: Pick<Outward, 'pushConfigs' | 'queue'>
  logger: Logger
  /** Unix time, milliseconds. */
  now: () => number
}

/** Tasks and everything that lives on them: what they run, what operations see, where they tell. */
export const openTaskPlane = (parts: TaskPlaneParts) => {
  const { config, store, events, operations, views, perform, outward, logger, now } = parts
  const { task_days: keptDays } = config.a2a
  const { pushConfigs: push, queue } = outward
  const tasks = createTasks({
    ...{ store, logger, now },
    publish: events.publish,
    hooks: pushQueue({ configs: push, queue, logger }),
  })
  const readerOf = taskReaders(operations)
  const operationTasks = createOperationTasks({
    ...{ tasks, readerOf, views, perform, operations, events, keptDays, logger },
  })
  const taskViews: TaskViews = {
    ...tasks,
    get: (taskId, by) => tasks.get(taskId, readerOf(by)),
    list: (request, by) => tasks.list(request, readerOf(by)),
    cancel: operationTasks.cancel,
    hooks: push,
  }
  const close = async (): Promise<void> => {
    operationTasks.close()
    await tasks.close()
  }
  const a2a: A2aParts = { tasks, operationTasks, readerOf, push }
  return { a2a, taskViews, recover: operationTasks.recover, close }
}
