import type { StreamResponse, Task } from '@a2a-js/sdk'
import type { SealedTrx } from '../store/store.ts'
import type { TaskRun } from './task-run.ts'

/** One event of a task, and the task with it. */
export interface TaskChange {
  event: StreamResponse
  task: Task
}

/** What has to be sent elsewhere when something happens to a task. */
export interface TaskHooks {
  /** In the transaction that stores the changes. What it throws keeps them from being stored. */
  put(
    trx: SealedTrx,
    changes: readonly TaskChange[],
    run: Pick<TaskRun, 'taskId' | 'tenantId'>,
  ): Promise<void>
  /** After that transaction. */
  wake(): void
}
