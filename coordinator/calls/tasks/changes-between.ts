import type { Task, TaskEvent } from './task.ts'

/**
 * Derives the events that lead from one snapshot of a task to another, for followers that see the
 * task only from time to time.
 */
export const changesBetween = (before: Task, after: Task): TaskEvent[] => {
  const { status } = after
  const known = new Set(before.artifacts.map(artifact => JSON.stringify(artifact)))
  const events: TaskEvent[] = after.artifacts
    .filter(artifact => !known.has(JSON.stringify(artifact)))
    .map(artifact => ({ kind: 'artifact', artifact, append: false, lastChunk: true }))
  const { state, timestamp } = before.status
  if (status.state !== state || status.timestamp !== timestamp)
    events.push({ kind: 'status', status })
  return events
}
