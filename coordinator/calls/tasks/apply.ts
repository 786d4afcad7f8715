import type { Artifact, Message, Task, TaskEvent, TaskStatus } from './task.ts'

/** Maximum number of messages kept per task; the oldest are dropped. */
const MAX_HISTORY = 200

/** Returns the task after one event, without changing its argument. */
export const applyEvent = (task: Task, event: TaskEvent): Task => {
  switch (event.kind) {
    case 'task':
      return event.task
    case 'status': {
      const { status } = event
      const said = isProgress(task, status) ? undefined : status.message
      return { ...task, status, ...(said && { history: withMessage(task.history, said) }) }
    }
    case 'artifact':
      return { ...task, artifacts: withArtifact(task.artifacts, event.artifact, event.append) }
  }
}

/**
 * True when a status only reports progress of a working task; progress is not part of the
 * conversation.
 */
const isProgress = ({ status }: Task, { state }: TaskStatus): boolean =>
  status.state === 'working' && state === 'working'

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
