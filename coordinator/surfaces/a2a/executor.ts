import type { Message, Task } from '../../calls/tasks/task.ts'
import type { TaskRun } from '../../calls/tasks/task-run.ts'
import type { Opening } from '../../calls/tasks/turn.ts'
import type { A2aCall } from './call.ts'

/** Outcome of a message: an immediate answer, or a turn of a task. */
export type ExecutorAnswer =
  | { kind: 'message'; message: Message }
  | {
      kind: 'task'
      run: Pick<TaskRun, 'operationId' | 'input' | 'cellId' | 'audited'>
      metadata?: Task['metadata']
      opening: Opening
    }

export interface ExecutorRequest {
  message: Message
  /** Metadata of the request, besides that of the message. */
  metadata: Record<string, unknown>
  call: A2aCall
  /** The task that the message continues; it waits for input. */
  previous?: { task: Task; run: TaskRun } | undefined
}

/** Throws for messages that cannot be executed; no task is created then. */
export type Executor = (incoming: ExecutorRequest) => ExecutorAnswer | Promise<ExecutorAnswer>
