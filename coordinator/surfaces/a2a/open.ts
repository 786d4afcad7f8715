import { DAY_MS } from '../../../shared/time.ts'
import type { PipelineViews } from '../../calls/invoke/call-context.ts'
import type { Pipeline } from '../../calls/invoke/invoke.ts'
import type { ResolveReferences } from '../../calls/invoke/resolve-references.ts'
import { createOperationTasks, type OperationTasks } from '../../calls/tasks/operation-tasks.ts'
import { type ReaderOf, taskReaders } from '../../calls/tasks/task-readers.ts'
import type { TaskViews } from '../../calls/tasks/task-views.ts'
import { createTasks, type Tasks } from '../../calls/tasks/tasks.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { Operation } from '../../kernel/declaration/operation.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import type { Ownership } from '../../kernel/leases/ownership.ts'
import type { OpenQueue } from '../../kernel/queue/open.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { A2aConfig } from './a2a-config.ts'
import type { PushConfigs } from './push/push-configs.ts'
import { pushQueue } from './push/push-queue.ts'

/** Opens the task visibility of each caller. */
export const openReaders = ({
  callable,
}: {
  callable: readonly Operation[]
}): { readerOf: ReaderOf } => ({ readerOf: taskReaders(callable) })

const DROP_SECONDS = 600

interface TaskDomainParts
  extends Pick<Base, 'stack' | 'logger' | 'now' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  resolveReferences: ResolveReferences
  ownership: Ownership
  config: { a2a: A2aConfig }
  store: Store
  events: Events
  /** Operations and skills. */
  callable: readonly Operation[]
  readerOf: ReaderOf
  views: PipelineViews
  push: PushConfigs
  pipeline: Pick<Pipeline, 'authorize' | 'perform'>
  work: Pick<OpenQueue, 'queue'>
}

/** Opens tasks: their execution, their views for operations, and their notifications. */
export const openTasks = (
  parts: TaskDomainParts,
): { tasks: Tasks; operationTasks: OperationTasks; views: TaskViews } => {
  const { config, store, events, callable, readerOf, push, work, stack } = parts
  const { ownership, pipeline, leaderWork, logger, now, runtime } = parts
  const tasks = createTasks({
    ownership,
    runtime,
    store,
    addEvents: events.addWithin,
    hooks: pushQueue({ configs: push, queue: work.queue, logger }),
    logger,
    now,
  })
  stack.defer(() => tasks.close())
  const operationTasks = createOperationTasks({
    tasks,
    readerOf,
    views: () => parts.views,
    pipeline,
    operations: callable,
    resolveReferences: parts.resolveReferences,
    events,
    logger,
    runtime,
  })
  stack.defer(() => operationTasks.close())
  leaderWork.every('tasks.drop', DROP_SECONDS, ledger =>
    tasks.drop(now() - config.a2a.task_days * DAY_MS, ledger),
  )
  // the pipeline begins tasks
  const seen: TaskViews['tasks'] & Pick<OperationTasks, 'begin'> = {
    ...tasks,
    get: (taskId, by) => tasks.get(taskId, readerOf(by)),
    list: (request, by) => tasks.list(request, readerOf(by)),
    begin: operationTasks.begin,
    cancel: operationTasks.cancel,
    hooks: push,
  }
  return { tasks, operationTasks, views: { tasks: seen } }
}

/**
 * Interval of looks: other processes decide without an event here, end in the middle of a task, or
 * post mail while this one takes a task over.
 */
const LOOK_SECONDS = 5

/** Resumes the tasks of a terminated process; every view is available by now. */
export const recoverTasks = async ({
  tasks,
  operationTasks,
  schedules,
}: Pick<Base, 'schedules'> & {
  tasks: Tasks
  operationTasks: OperationTasks
}): Promise<object> => {
  await operationTasks.recover()
  schedules.every('tasks.recover', LOOK_SECONDS, operationTasks.recover)
  schedules.every('tasks.deliver', LOOK_SECONDS, tasks.deliverPosted)
  return {}
}
