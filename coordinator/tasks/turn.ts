import type { Artifact, Part } from '@a2a-js/sdk'
import type { TaskRun } from './task-run.ts'
import type { TaskState } from './task-state.ts'

export interface StatusMore {
  /** What the agent says with it. */
  parts?: Part[]
  /** In plain words, for the history of states. */
  reason?: string
  /** What the task is from now on; what it waits for is kept with it. */
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
  /** Who did it: `key:…`; the coordinator by default. */
  actor?: string
}

/** One stretch of work on a task: from a message to an end or to a question. */
export interface Turn {
  taskId: string
  contextId: string
  /** Aborts when the task is cancelled or the coordinator stops. */
  signal: AbortSignal
  /** Artifacts that the task has already. */
  artifacts: readonly Artifact[]
  status(state: TaskState, more?: StatusMore): void
  artifact(artifact: Artifact, more?: { append?: boolean; lastChunk?: boolean }): void
}

/** What is done in a turn. When it throws, the task has failed. */
export type Work = (turn: Turn) => Promise<void>

/** How a turn begins: its first state, which is stored before anything is done, and what is done then. */
export interface Opening {
  state: TaskState
  more?: StatusMore
  /** Absent where the first state settles the task. */
  work?: Work
}

export const workOf =
  ({ state, more, work }: Opening): Work =>
  async turn => {
    turn.status(state, more)
    await work?.(turn)
  }
