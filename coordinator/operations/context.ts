import type {
  ListTasksRequest,
  ListTasksResponse,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk'
import type { Actor } from '../audit/audit.ts'
import type { Conversations } from '../conversations/conversations.ts'
import type { DomainViews } from '../domains.ts'
import type { Key } from '../keys/key.ts'
import type { Tasks } from '../tasks/tasks.ts'
import type { CallStats } from './call-stats.ts'
import type { CardSkill } from './card-skill.ts'

/** What operations may look at and act on: the views of all parts, never a store. */
export type Views = DomainViews & CallViews & TaskViews & ConversationViews

/** Operations themselves, as other operations see them. */
export interface CallViews {
  /** The skills on the agent card, in its order. */
  skills: readonly CardSkill[]
  /** The answer of a skill, or `Pending`; the caller has checked that it may be called. */
  callSkill(id: string, input: unknown, context: Context): Promise<unknown>
  /** How operations were called since the start. */
  calls: CallStats
  /** Unix time, milliseconds. */
  now: () => number
}

export interface ConversationViews {
  conversations: Omit<Conversations<Context>, 'close'>
}

export interface TaskViews {
  tasks: SeenTasks
}

/** Tasks that the caller sees. */
export interface SeenTasks extends Pick<Tasks, 'run' | 'runs' | 'transitions'> {
  get(taskId: string, by: TaskCaller): Promise<Task>
  list(request: ListTasksRequest, by: TaskCaller): Promise<ListTasksResponse>
  cancel(taskId: string, by: TaskCaller): Promise<Task>
  hooks: TaskHooks
}

/** Where clients want to be told what happens to a task; what is shown has no whole secret in it. */
export interface TaskHooks {
  /** Throws `invalid_request` for an address that is not sent to, and for one hook too many. */
  save(
    taskId: string,
    tenantId: string,
    hook: TaskPushNotificationConfig,
    version: '1.0',
    keyId: string,
  ): Promise<TaskPushNotificationConfig>
  list(taskId: string, tenantId: string): Promise<TaskPushNotificationConfig[]>
  remove(taskId: string, tenantId: string, hookId: string): Promise<void>
}

/** Who has begun a task, or does something to it. */
export interface TaskCaller {
  key: Key | undefined
  tenantId: string | undefined
  requestId: string
}

/** How far a call is; what the numbers count is for the operation to say. */
export interface Progress {
  done?: number
  total?: number
  /** For people. */
  message?: string
  data?: unknown
}

/** One call: the views, and who asks. */
export interface Context extends Views {
  /** Undefined on operations with access `none`. */
  key: Key | undefined
  tenantId: string | undefined
  requestId: string
  /** Where the call comes from: an IPv4 address, or the /64 of an IPv6 one. */
  address?: string
  /** Who is written into the audit. */
  actor: Actor
  /** Aborts when the time is up or the caller has left. */
  signal: AbortSignal
  /** The cell to run on, where the caller named one and the operation takes one. */
  cellId?: string | undefined
  /** Tells who waits how far it is; without effect where nobody listens. */
  progress: (progress: Progress) => void
  /** Tells who waits what happens meanwhile; absent where nobody listens. */
  tell?: Tell
}

export type Tell = (told: { event: string; data: unknown }) => void
