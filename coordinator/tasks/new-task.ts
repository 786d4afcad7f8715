import type { Message, Task } from '@a2a-js/sdk'
import { newId } from '../../shared/ids.ts'
import type { TaskRun } from './task-run.ts'
import { TaskState } from './task-state.ts'
import type { Work } from './turn.ts'

export interface NewTask {
  run: Omit<TaskRun, 'taskId' | 'waits' | 'gateRequestId' | 'createdAt'>
  /** Joins a conversation; a new one by default. */
  contextId?: string | undefined
  /** Undefined for a task that was not begun with a message. */
  message?: Message | undefined
  metadata?: Task['metadata'] | undefined
  work: Work
  /** Done in the transaction that makes the task. */
  prepare?: (taskId: string) => Promise<void>
}

/** The task as it begins, and what it does. `at`: Unix time, milliseconds. */
export const firstTask = (
  { run: given, contextId: joined, message, metadata }: NewTask,
  at: number,
): { task: Task; run: TaskRun } => {
  const taskId = newId('task', at)
  const contextId = joined ?? newId('ctx', at)
  const status = {
    state: TaskState.TASK_STATE_SUBMITTED,
    message: undefined,
    timestamp: new Date(at).toISOString(),
  }
  const history = message === undefined ? [] : [{ ...message, taskId, contextId }]
  return {
    task: { id: taskId, contextId, status, artifacts: [], history, metadata },
    run: { ...given, taskId, waits: undefined, gateRequestId: undefined, createdAt: at },
  }
}
