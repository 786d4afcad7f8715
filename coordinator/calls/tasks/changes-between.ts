import { Artifact, type StreamResponse, type Task } from '@a2a-js/sdk'

/**
 * Derives the events that lead from one snapshot of a task to another, for followers that see the
 * task only from time to time.
 */
export const changesBetween = (before: Task, after: Task): StreamResponse[] => {
  const { id: taskId, contextId, status } = after
  const place = { taskId, contextId, metadata: undefined }
  const known = new Set(before.artifacts.map(textOf))
  const events: StreamResponse[] = after.artifacts
    .filter(artifact => !known.has(textOf(artifact)))
    .map(artifact => {
      const value = { ...place, artifact, append: false, lastChunk: true }
      return { payload: { $case: 'artifactUpdate', value } }
    })
  const { state, timestamp } = before.status ?? {}
  if (status?.state !== state || status?.timestamp !== timestamp)
    events.push({ payload: { $case: 'statusUpdate', value: { ...place, status } } })
  return events
}

const textOf = (artifact: Artifact): string => JSON.stringify(Artifact.toJSON(artifact))
