import { randomId } from '../../../shared/ids.ts'
import type { Artifact, Message, Part } from './task.ts'

export const textPart = (text: string): Part => ({ text, mediaType: 'text/plain' })

/** Part with any value that JSON can represent. */
export const dataPart = (value: unknown): Part => ({
  data: JSON.parse(JSON.stringify(value)),
  mediaType: 'application/json',
})

/** Message from the agent in a task. */
export const agentMessage = (taskId: string, contextId: string, parts: Part[]): Message => ({
  messageId: randomId(),
  taskId,
  contextId,
  role: 'agent',
  parts,
})

export const artifactOf = (
  name: string,
  parts: Part[],
  metadata?: Artifact['metadata'],
): Artifact => ({ artifactId: randomId(), name, parts, metadata })
