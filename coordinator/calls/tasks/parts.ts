import { type Artifact, type Message, type Part, Role } from '@a2a-js/sdk'
import { randomId } from '../../../shared/ids.ts'

const bare = { filename: '', metadata: undefined }

export const textPart = (value: string): Part => ({
  ...bare,
  content: { $case: 'text', value },
  mediaType: 'text/plain',
})

/** Part with any value that JSON can represent. */
export const dataPart = (value: unknown): Part => ({
  ...bare,
  content: { $case: 'data', value: JSON.parse(JSON.stringify(value)) },
  mediaType: 'application/json',
})

/** Message from the agent in a task. */
export const agentMessage = (taskId: string, contextId: string, parts: Part[]): Message => ({
  messageId: randomId(),
  taskId,
  contextId,
  role: Role.ROLE_AGENT,
  parts,
  metadata: undefined,
  extensions: [],
  referenceTaskIds: [],
})

export const artifactOf = (name: string, parts: Part[], metadata?: object): Artifact => ({
  artifactId: randomId(),
  name,
  description: '',
  parts,
  metadata: metadata as Artifact['metadata'],
  extensions: [],
})
