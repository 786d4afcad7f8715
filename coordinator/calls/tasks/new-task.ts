import type { Runtime } from '../../../shared/runtime.ts'
import { iso } from '../../../shared/time.ts'
import type { Message, Task } from './task.ts'
import type { TaskRun } from './task-run.ts'
import type { TurnWork } from './turn.ts'

export interface NewTask {
  run: Omit<TaskRun, 'taskId' | 'waits' | 'gateRequestId' | 'createdAt'>
  /** Conversation that the task joins; a new one by default. */
  contextId?: string | undefined
  /** Message that started the task; undefined if there was none. */
  message?: Message | undefined
  metadata?: Task['metadata'] | undefined
  work: TurnWork
  /** Runs in the transaction that creates the task. */
  prepare?: (taskId: string) => Promise<void>
}

/** Builds a new task in its first state, and its run. `at` is Unix time in milliseconds. */
export const firstTask = (
  { run: given, contextId: joined, message, metadata }: NewTask,
  { at, ids }: { at: number } & Pick<Runtime, 'ids'>,
): { task: Task; run: TaskRun } => {
  const taskId = ids.create('task', at)
  const contextId = joined ?? ids.create('ctx', at)
  const status = { state: 'submitted' as const, timestamp: iso(at) }
  const history = message === undefined ? [] : [{ ...message, taskId, contextId }]
  return {
    task: { id: taskId, contextId, status, artifacts: [], history, metadata },
    run: { ...given, taskId, waits: undefined, gateRequestId: undefined, createdAt: at },
  }
}
