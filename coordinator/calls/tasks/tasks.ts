import type { Logger } from 'pino'
import type { Runtime } from '../../../shared/runtime.ts'
import type { Events } from '../../kernel/events/bus.ts'
import type { Ownership } from '../../kernel/leases/ownership.ts'
import type { Ledger, Store } from '../../kernel/store/store.ts'
import { cancelTask } from './cancelling.ts'
import { findAcceptedTask } from './claim.ts'
import { createFollowers } from './followers.ts'
import { lookForMail } from './looking.ts'
import { type SentMessage, sendTaskMessage } from './sending.ts'
import type { Subscription } from './subscription.ts'
import type { Message, Task } from './task.ts'
import type { TaskHooks } from './task-hooks.ts'
import { type StartedTask, TaskOwner } from './task-owner.ts'
import {
  countTasks,
  listTasks,
  type TaskFilter,
  type TaskPage,
  type TaskPageRequest,
} from './task-pages.ts'
import type { TaskReader } from './task-reader.ts'
import { dropEnded, readRun, readRuns, readSeen } from './task-rows.ts'
import type { TaskRun } from './task-run.ts'
import { isFinal } from './task-state.ts'
import type { TaskTransition } from './task-transition.table.ts'
import { readNewest, readTransitions } from './transition-rows.ts'
import type { Turns } from './turns.ts'

/**
 * Tasks: work with an id that outlives the connection that requested it and, in the store, the
 * process. Everything that is reported about a task was stored before. A task that its reader may
 * not see is `not_found`, like an unknown one.
 */
export interface Tasks extends Pick<TaskOwner, 'begin' | 'serve'>, Pick<Turns, 'isRunning'> {
  /**
   * Posts a message to a task that waits for input, as the caller has seen it. Throws `conflict`
   * when the task is running, has ended or has another message, and `rate_limited`.
   */
  send(seen: Task, tenantId: string, sent: SentMessage): Promise<StartedTask>
  /**
   * Cancels a task; throws `conflict` when it has ended otherwise. When another process owns the
   * task and does not end it within 20 s, returns the task as it is.
   */
  cancel(taskId: string, tenantId: string, actor: string): Promise<Task>
  /**
   * Continues every task that has mail, whose gate request was decided, or that has lost its owner,
   * unless another live process is running it.
   */
  look(): Promise<void>
  close(): Promise<void>
  /**
   * Result for a message that the task accepted before; its mail is delivered if it is still
   * waiting.
   */
  resumeAccepted(taskId: string): StartedTask
  /** Id of the task that accepted the same message of this key before. Throws as `begin` does. */
  findAccepted(keyId: string, message: Message): Promise<string | undefined>
  get(taskId: string, reader: TaskReader): Promise<Task>
  run(taskId: string): Promise<TaskRun>
  /** Runs of several tasks by task id. */
  runs(taskIds: readonly string[]): Promise<Map<string, TaskRun>>
  list(request: TaskPageRequest, reader: TaskReader): Promise<TaskPage>
  count(filter: TaskFilter, reader: TaskReader): Promise<number>
  /** Returns the current task and a subscription to all later events. */
  follow(taskId: string, reader: TaskReader): Promise<{ task: Task; events: Subscription }>
  unfollow(taskId: string, events: Subscription): void
  transitions(taskId: string, page?: { after?: number; limit?: number }): Promise<TaskTransition[]>
  /** Newest transitions of each task, at most `limit` per task, oldest first. */
  newestTransitions(
    taskIds: readonly string[],
    limit: number,
  ): Promise<Map<string, TaskTransition[]>>
  /** Acts on mail that other processes have posted for tasks that run here. */
  deliverPosted(): Promise<void>
  /** Deletes tasks that ended before this time; returns the number deleted. */
  drop(before: number, ledger?: Pick<Ledger, 'free'>): Promise<number>
}

interface TaskParts {
  /** Owner of the tasks that run here. */
  ownership: Ownership
  store: Pick<Store, 'ledger' | 'revisions'>
  addEvents: Events['addWithin']
  hooks?: TaskHooks | undefined
  logger: Pick<Logger, 'warn' | 'error'>
  now: () => number
  runtime: Pick<Runtime, 'setTimeout' | 'ids'>
}

const DROPPED_AT_ONCE = 500

export const createTasks = (parts: TaskParts): Tasks => {
  const { ownership, logger, now, runtime, addEvents, hooks } = parts
  const { ledger, revisions } = parts.store
  const followers = createFollowers({ ledger, isRunning: taskId => turns.isRunning(taskId) })
  const lookAt = (taskId?: string): void => {
    followers
      .look(taskId)
      .catch(error => logger.warn({ err: error }, 'followed tasks were not read'))
  }
  const owner = new TaskOwner({
    ownership,
    runtime,
    ledger,
    logger,
    now,
    addEvents,
    hooks,
    onEvent: followers.tell,
    onError: followers.fail,
    onLeft: lookAt,
  })
  const { turns } = owner
  const own = { ledger, owner, followers, logger, now, runtime }

  const look = (): void => {
    owner
      .deliverPosted()
      .catch(error => logger.warn({ err: error }, 'the mail of tasks was not read'))
    lookAt()
  }
  const stopWatching = revisions.onChange('tasks', look)

  const follow: Tasks['follow'] = async (taskId, reader) => {
    const stored = await readSeen(ledger.read, taskId, reader)
    const told = turns.findReportedTask(taskId)
    const followed = followers.add(told ?? stored, reader.tenantId)
    const { events } = followed
    const task = structuredClone(told ?? followed.task)
    if (isFinal(task.status.state)) followers.remove(taskId, events)
    // the task may have changed since it was read
    else if (told === undefined) await followers.look()
    return { task, events }
  }

  const close = async (): Promise<void> => {
    stopWatching()
    await turns.close()
    followers.close()
  }

  return {
    begin: asked => owner.begin(asked),
    serve: answer => owner.serve(answer),
    isRunning: taskId => turns.isRunning(taskId),
    resumeAccepted: taskId => owner.resumeAccepted(taskId),
    send: (seen, tenantId, sent) => sendTaskMessage(own, seen, tenantId, sent),
    cancel: (taskId, tenantId, actor) => cancelTask(own, taskId, tenantId, actor),
    look: () => lookForMail(own),
    deliverPosted: () => owner.deliverPosted(),
    follow,
    close,
    unfollow: followers.remove,
    findAccepted: (keyId, message) => findAcceptedTask(ledger.read, keyId, message),
    get: (taskId, reader) => readSeen(ledger.read, taskId, reader),
    run: taskId => readRun(ledger.read, taskId),
    runs: taskIds => readRuns(ledger.read, taskIds),
    list: (request, reader) => listTasks(ledger.read, request, reader, logger),
    count: (filter, reader) => countTasks(ledger.read, filter, reader),
    transitions: (taskId, page) => readTransitions(ledger.read, taskId, page, logger),
    newestTransitions: (taskIds, limit) => readNewest(ledger.read, taskIds, limit, logger),
    drop: (before, { free } = ledger) => free.write(trx => dropEnded(trx, before, DROPPED_AT_ONCE)),
  }
}
