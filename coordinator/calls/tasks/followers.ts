import type { Ledger } from '../../kernel/store/store.ts'
import { applyEvent } from './apply.ts'
import { changesBetween } from './changes-between.ts'
import { Subscription } from './subscription.ts'
import type { Task, TaskEvent } from './task.ts'
import { readTask, readUpdates, type Update } from './task-rows.ts'
import { isFinal } from './task-state.ts'

interface Followed {
  tenantId: string
  readers: Set<Subscription>
  /** Task as last reported to its followers. */
  task: Task
}

/** Followers of tasks, whether a task runs in this process or in another. */
export interface Followers {
  /**
   * Follows a task from the state last reported to its followers, or from `told` when it has none.
   * The events begin after that state.
   */
  add(told: Task, tenantId: string): { task: Task; events: Subscription }
  remove(taskId: string, events: Subscription): void
  tell(task: Task, event: TaskEvent): void
  fail(taskId: string, error: Error): void
  /** Reports what other processes have stored since the last report, for one task or for all. */
  look(taskId?: string): Promise<void>
  close(): void
}

interface FollowerParts {
  ledger: Ledger
  /** True when the task runs in this process, which then reports its events itself. */
  isRunning: (taskId: string) => boolean
}

export const createFollowers = ({ ledger, isRunning }: FollowerParts): Followers => {
  const all = new Map<string, Followed>()

  const add: Followers['add'] = (told, tenantId) => {
    const followed = all.get(told.id) ?? { tenantId, readers: new Set(), task: told }
    const events = new Subscription()
    followed.readers.add(events)
    all.set(told.id, followed)
    return { task: followed.task, events }
  }

  const remove: Followers['remove'] = (taskId, events) => {
    events.close()
    const followed = all.get(taskId)
    followed?.readers.delete(events)
    if (followed?.readers.size === 0) all.delete(taskId)
  }

  const end = (taskId: string, action: (reader: Subscription) => void): void => {
    for (const reader of all.get(taskId)?.readers ?? []) action(reader)
    all.delete(taskId)
  }

  const tell: Followers['tell'] = (task, event) => {
    const followed = all.get(task.id)
    if (followed === undefined) return
    followed.task = task
    for (const reader of followed.readers) reader.push(event)
    if (isFinal(task.status.state)) end(task.id, reader => reader.close())
  }

  const lookAt = async (taskId: string, followed: Followed): Promise<void> => {
    const before = followed.task
    const task = await readTask(ledger.read, taskId, followed.tenantId)
    // meanwhile its events were reported by this process, or its last follower has left
    if (all.get(taskId) !== followed || followed.task !== before || isRunning(taskId)) return
    const events = changesBetween(before, task)
    for (const [index, event] of events.entries())
      tell(index < events.length - 1 ? applyEvent(followed.task, event) : task, event)
  }

  const look: Followers['look'] = async only => {
    const wanted = [...all].filter(([taskId]) => taskId === (only ?? taskId))
    const elsewhere = wanted.filter(([taskId]) => !isRunning(taskId))
    if (elsewhere.length === 0) return
    const updates = await readUpdates(
      ledger.read,
      elsewhere.map(([taskId, { tenantId }]) => ({ taskId, tenantId })),
    )
    for (const [taskId, followed] of elsewhere)
      if (!isSameUpdate(updates.get(taskId), followed.task.status))
        await lookAt(taskId, followed).catch(error => end(taskId, reader => reader.fail(error)))
  }

  return {
    add,
    remove,
    tell,
    look,
    fail: (taskId, error) => end(taskId, reader => reader.fail(error)),
    close: () => {
      for (const taskId of [...all.keys()]) end(taskId, reader => reader.close())
    },
  }
}

const isSameUpdate = (one: Update | undefined, other: Update | undefined): boolean =>
  one?.state === other?.state && one?.timestamp === other?.timestamp
