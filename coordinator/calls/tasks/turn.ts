import type { Artifact, Part } from './task.ts'
import type { TaskRun } from './task-run.ts'
import type { TaskState } from './task-state.ts'

export interface StatusMore {
  /** Content of the agent's message with the status. */
  parts?: Part[]
  /** Reason in plain words, for the history of states. */
  reason?: string
  /** Changes to the run from this status on, including what the task waits for. */
  run?: Partial<
    Pick<
      TaskRun,
      | 'keyId'
      | 'requestId'
      | 'operationId'
      | 'input'
      | 'cellId'
      | 'waits'
      | 'gateRequestId'
      | 'audited'
    >
  >
  /** Actor of the change, such as `key:…`; the coordinator by default. */
  actor?: string
}

/** One period of work on a task: from a message to an end or a question. */
export interface Turn {
  taskId: string
  contextId: string
  /** Aborts when the task is cancelled or the coordinator stops. */
  signal: AbortSignal
  /** Artifacts that the task has so far. */
  artifacts: readonly Artifact[]
  status(state: TaskState, more?: StatusMore): void
  artifact(artifact: Artifact, more?: { append?: boolean; lastChunk?: boolean }): void
}

/** Work of a turn; an error fails the task. */
export type TurnWork = (turn: Turn) => Promise<void>

/** Start of a turn: its first state, which is stored before the work begins, and the work. */
export interface Opening {
  state: TaskState
  more?: StatusMore
  /** Work of the turn; absent when the first state settles the task. */
  work?: TurnWork
}

export const workOf =
  ({ state, more, work }: Opening): TurnWork =>
  async turn => {
    turn.status(state, more)
    await work?.(turn)
  }
