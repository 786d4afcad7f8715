import type { Artifact, Message, StreamResponse, Task } from '@a2a-js/sdk'
import { TaskState } from './task-state.ts'

/** Maximum number of messages kept per task; the oldest are dropped. */
const MAX_HISTORY = 200

/** Returns the task after one event, without changing its argument. */
export const applyEvent = (task: Task, { payload }: StreamResponse): Task => {
  switch (payload?.$case) {
    case 'statusUpdate': {
      const { status } = payload.value
      const said = isProgress(task, status?.state) ? undefined : status?.message
      return { ...task, status, ...(said && { history: withMessage(task.history, said) }) }
    }
    case 'artifactUpdate': {
      const { artifact, append } = payload.value
      if (artifact === undefined) return task
      return { ...task, artifacts: withArtifact(task.artifacts, artifact, append) }
    }
    case 'task':
      return payload.value
    default:
      return task
  }
}

/**
 * True when a status only reports progress of a working task; progress is not part of the
 * conversation.
 */
const isProgress = ({ status }: Task, state: TaskState | undefined): boolean =>
  status?.state === TaskState.TASK_STATE_WORKING && state === TaskState.TASK_STATE_WORKING

/** Appends a message to the history unless it is already there. */
export const withMessage = (history: readonly Message[], message: Message): Message[] =>
  history.some(({ messageId }) => messageId === message.messageId)
    ? [...history]
    : [...history, message].slice(-MAX_HISTORY)

const withArtifact = (
  artifacts: readonly Artifact[],
  artifact: Artifact,
  append: boolean,
): Artifact[] => {
  const at = artifacts.findIndex(({ artifactId }) => artifactId === artifact.artifactId)
  const known = artifacts[at]
  if (known === undefined) return [...artifacts, artifact]
  const next = append ? { ...known, parts: [...known.parts, ...artifact.parts] } : artifact
  return artifacts.with(at, next)
}
