import * as z from 'zod'
import { StoredTaskState } from './task-state.ts'

/*
 * Tasks and their content. The schemas read stored rows and messages in the mail of tasks, whose
 * JSON has the names, the order of fields and the words of A2A 1.0.
 */

/** Facts of a client that the coordinator keeps as they are, an array included. */
const Metadata = z.custom<Record<string, unknown>>(
  value => typeof value === 'object' && value !== null,
)

/** One piece of content; it is in the one of `text`, `raw`, `url` and `data` that is present. */
export const Part = z.object({
  text: z.string().optional(),
  /** Bytes in base64. */
  raw: z.string().optional(),
  url: z.string().optional(),
  /** Any value that JSON can represent. */
  data: z.unknown().optional(),
  metadata: Metadata.optional(),
  filename: z.string().optional(),
  mediaType: z.string().optional(),
})
export type Part = z.output<typeof Part>

const STORED_ROLES = { user: 'ROLE_USER', agent: 'ROLE_AGENT' } as const

/** Author of a message: the client of a task, or its agent. */
const Role = z.codec(z.enum(['ROLE_USER', 'ROLE_AGENT']), z.enum(['user', 'agent']), {
  decode: stored => (stored === STORED_ROLES.user ? 'user' : 'agent'),
  encode: role => STORED_ROLES[role],
})

export const Message = z.object({
  messageId: z.string(),
  contextId: z.string().optional(),
  taskId: z.string().optional(),
  role: Role,
  parts: z.array(Part).default([]),
  metadata: Metadata.optional(),
  /** Extensions of A2A that the message uses, by their URIs. */
  extensions: z.array(z.string()).optional(),
  referenceTaskIds: z.array(z.string()).optional(),
})
export type Message = z.output<typeof Message>

/** Result of a task, or a part of it. */
export const Artifact = z.object({
  artifactId: z.string(),
  name: z.string().optional(),
  description: z.string().optional(),
  parts: z.array(Part).default([]),
  metadata: Metadata.optional(),
  extensions: z.array(z.string()).optional(),
})
export type Artifact = z.output<typeof Artifact>

export const TaskStatus = z.object({
  state: StoredTaskState,
  /** Message of the agent with this status. */
  message: Message.optional(),
  /** Time of the change in ISO 8601. */
  timestamp: z.string(),
})
export type TaskStatus = z.output<typeof TaskStatus>

/** Work with an id, in a conversation with its client. */
export const Task = z.object({
  id: z.string(),
  /** Conversation that the task is part of. */
  contextId: z.string(),
  status: TaskStatus,
  artifacts: z.array(Artifact),
  /** Newest messages, oldest first. */
  history: z.array(Message),
  metadata: Metadata.optional(),
})
export type Task = z.output<typeof Task>

/** One change of a task, as its followers receive it. */
export type TaskEvent =
  | { kind: 'task'; task: Task }
  | { kind: 'status'; status: TaskStatus }
  | {
      kind: 'artifact'
      artifact: Artifact
      /** Flag of parts that are appended to those of the artifact with the same id. */
      append: boolean
      /** Flag of the last parts of the artifact. */
      lastChunk: boolean
    }
