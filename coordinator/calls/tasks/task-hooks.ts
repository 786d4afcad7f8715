import type { SealedTrx } from '../../kernel/store/store.ts'
import type { Task, TaskEvent } from './task.ts'
import type { TaskRun } from './task-run.ts'

/** One event of a task, and the task after it. */
export interface TaskChange {
  event: TaskEvent
  task: Task
}

/** Hooks that forward changes of tasks to other systems. */
export interface TaskHooks {
  /** Runs in the transaction that stores the changes; an error rolls it back. */
  put(
    trx: SealedTrx,
    changes: readonly TaskChange[],
    run: Pick<TaskRun, 'taskId' | 'tenantId'>,
  ): Promise<void>
  /** Runs after that transaction has committed. */
  wake(): void
}
