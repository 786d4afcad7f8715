import type { ListTasksRequest, ListTasksResponse, Message, Task } from '@a2a-js/sdk'
import type { Logger } from 'pino'
import { newId } from '../../shared/ids.ts'
import type { Events } from '../events/bus.ts'
import type { Store } from '../store/store.ts'
import type { TaskTransitionRow } from '../store/task-tables.ts'
import { type Cancelling, createCancelling } from './cancelling.ts'
import { takenBy } from './claim.ts'
import { createFollowers } from './followers.ts'
import { LEASE_MS } from './lease.ts'
import type { Subscription } from './subscription.ts'
import type { TaskHooks } from './task-hooks.ts'
import type { TaskReader } from './task-reader.ts'
import {
  dropEnded,
  listTasks,
  readCutOff,
  readDecided,
  readRun,
  readRuns,
  readSeen,
} from './task-rows.ts'
import type { TaskRun } from './task-run.ts'
import { isFinal } from './task-state.ts'
import { readNewest, readTransitions } from './transition-rows.ts'
import { createTurns, type Turns } from './turns.ts'

/**
 * Tasks: work that has an id, outlives the connection that asked for it and, in the store, the
 * process. What is told of a task was stored before. A task that its reader may not see is
 * `not_found`, as none is.
 */
export interface Tasks
  extends Pick<Turns, 'begin' | 'goOn' | 'isRunning' | 'close'>,
    Pick<Cancelling, 'cancel'> {
  /** The task that took the same message of this key before. Throws as `begin` does. */
  taken(keyId: string, message: Message): Promise<string | undefined>
  get(taskId: string, reader: TaskReader): Promise<Task>
  run(taskId: string): Promise<TaskRun>
  /** Those of many tasks, by their ids. */
  runs(taskIds: readonly string[]): Promise<Map<string, TaskRun>>
  list(request: ListTasksRequest, reader: TaskReader): Promise<ListTasksResponse>
  /** The task as it is when this is called, then everything that happens to it. */
  follow(taskId: string, reader: TaskReader): Promise<{ task: Task; events: Subscription }>
  unfollow(taskId: string, events: Subscription): void
  transitions(
    taskId: string,
    page?: { after?: number; limit?: number },
  ): Promise<TaskTransitionRow[]>
  /** The newest of each task, at most `limit`, in their order. */
  newestTransitions(
    taskIds: readonly string[],
    limit: number,
  ): Promise<Map<string, TaskTransitionRow[]>>
  /** What tasks do that should be at work and that no process runs any more, oldest first. */
  cutOff(): Promise<TaskRun[]>
  /** Tasks that wait at a gate where something was decided. */
  decided(): Promise<TaskRun[]>
  /** Takes tasks away that ended before this time. */
  drop(before: number): Promise<number>
}

export interface TaskParts {
  store: Pick<Store, 'ledger' | 'revisions'>
  publish: Events['publish']
  hooks?: TaskHooks | undefined
  logger: Pick<Logger, 'warn' | 'error'>
  now: () => number
}

const DROPPED_AT_ONCE = 500
/** What was asked for before a task was taken over here is seen then. */
const HEED_EVERY_MS = LEASE_MS / 3

export const createTasks = (parts: TaskParts): Tasks => {
  const { logger, now, publish, hooks } = parts
  const { ledger, revisions } = parts.store
  const worker = newId('worker')
  const followers = createFollowers({ ledger, isRunning: taskId => turns.isRunning(taskId) })
  const turns = createTurns({
    ...{ ledger, logger, now, worker, publish, hooks },
    told: followers.tell,
    failed: followers.fail,
    left: taskId => lookAt(taskId),
  })
  const { cancel, heed } = createCancelling({ ledger, turns, followers, logger })

  const lookAt = (taskId?: string): void => {
    followers
      .look(taskId)
      .catch(error => logger.warn({ err: error }, 'followed tasks were not read'))
  }
  const look = (): void => {
    void heed()
    lookAt()
  }
  const stopWatching = revisions.onChange('tasks', look)
  const heeding = setInterval(() => void heed(), HEED_EVERY_MS)
  heeding.unref()

  const follow: Tasks['follow'] = async (taskId, reader) => {
    const stored = await readSeen(ledger.read, taskId, reader)
    const told = turns.toldTask(taskId)
    const followed = followers.add(told ?? stored, reader.tenantId)
    const { events } = followed
    const task = structuredClone(told ?? followed.task)
    if (isFinal(task.status?.state)) followers.remove(taskId, events)
    // it may have gone on since it was read
    else if (told === undefined) await followers.look()
    return { task, events }
  }

  const close = async (): Promise<void> => {
    stopWatching()
    clearInterval(heeding)
    await turns.close()
    followers.close()
  }

  return {
    ...{ begin: turns.begin, goOn: turns.goOn, isRunning: turns.isRunning },
    ...{ cancel, follow, close },
    unfollow: followers.remove,
    taken: (keyId, message) => takenBy(ledger.read, keyId, message),
    get: (taskId, reader) => readSeen(ledger.read, taskId, reader),
    run: taskId => readRun(ledger.read, taskId),
    runs: taskIds => readRuns(ledger.read, taskIds),
    list: (request, reader) => listTasks(ledger.read, request, reader),
    transitions: (taskId, page) => readTransitions(ledger.read, taskId, page),
    newestTransitions: (taskIds, limit) => readNewest(ledger.read, taskIds, limit),
    cutOff: async () => {
      await heed()
      return readCutOff(ledger.read, { worker, now: now() })
    },
    decided: () => readDecided(ledger.read, now()),
    drop: before => ledger.free.write(trx => dropEnded(trx, before, DROPPED_AT_ONCE)),
  }
}
