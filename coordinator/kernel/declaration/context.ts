import type {
  ListTasksRequest,
  ListTasksResponse,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk'
import type { Conversations } from '../../agents/conversations/conversations.ts'
import type { CallStats } from '../../calls/invoke/call-stats.ts'
import type { Tasks } from '../../calls/tasks/tasks.ts'
import type { DomainViews } from '../../domains.ts'
import type { Embeddings } from '../../insight/knowledge/embeddings.ts'
import type { Actor } from '../audit/audit.ts'
import type { SkillFacts } from './declaration.ts'
import type { Key } from './key.ts'
import type { Outcome } from './outcome.ts'
import type { Upload } from './upload.ts'

/** Views that operations may read and act on; operations never see a store. */
export type Views = DomainViews & CallViews & TaskViews & ConversationViews & EmbeddingViews

/** Operations themselves, as other operations see them. */
export interface CallViews {
  /** The skills on the agent card, in its order. */
  skills: readonly SkillFacts[]
  /** Call statistics since the start. */
  calls: CallStats
  /** Unix time, milliseconds. */
  now: () => number
}

export interface ConversationViews {
  conversations: Omit<Conversations<Context>, 'close'>
}

export interface EmbeddingViews {
  embeddings: Embeddings
}

export interface TaskViews {
  tasks: SeenTasks
}

/** Tasks that the caller sees. */
interface SeenTasks extends Pick<Tasks, 'run' | 'runs' | 'transitions'> {
  get(taskId: string, by: TaskCaller): Promise<Task>
  list(request: ListTasksRequest, by: TaskCaller): Promise<ListTasksResponse>
  cancel(taskId: string, by: TaskCaller): Promise<Task>
  hooks: TaskHookRegistry
}

/** Webhooks for the events of tasks; shown secrets are masked. */
interface TaskHookRegistry {
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

/** The caller of an operation, as every surface knows it. */
export interface TaskCaller {
  /** Undefined without a key: for operations with access `none`. */
  key: Key | undefined
  tenantId: string | undefined
  requestId: string
  /** Network of the caller: an IPv4 address, or the /64 of an IPv6 one. */
  address?: string | undefined
}

/** Progress of a call; the operation decides what the numbers count. */
export interface Progress {
  done?: number
  total?: number
  /** Progress text for people. */
  message?: string
  data?: unknown
}

/** A skill that is called inside another call, with its caller. */
interface SkillCall {
  input: unknown
  /** Called once the call was admitted, before it runs. */
  onAdmitted?: () => Promise<void>
  /** True when the outer call was counted for this one too. */
  isCounted?: boolean
  /** Ends the call when it aborts; the signal of the outer call by default. */
  ends?: AbortSignal
}

export type CallSkill = (skillId: string, call: SkillCall) => Promise<Outcome>

/** One call: the views, and its caller. */
export interface Context extends Views, TaskCaller {
  /** The actor in the audit. */
  actor: Actor
  /** Aborts when the time is up or the caller has left. */
  signal: AbortSignal
  /** The cell to run on, where the caller named one and the operation takes one. */
  cellId?: string | undefined
  /** The file that was sent, where the operation takes one. */
  upload?: Upload | undefined
  /**
   * Reports progress; without effect where nobody listens. A promise resolves when the caller can
   * take more: an operation that reports often waits for it.
   */
  progress: Report
  /** Sends an event to the caller as `progress` does; absent where nobody listens. */
  tell?: Tell | undefined
  /** Calls a skill as any surface does. Throws `ShoalError`, such as `not_found`. */
  callSkill: CallSkill
}

export type Report = (progress: Progress) => Promise<void> | void
/** An event of a call. */
export interface Told {
  event: string
  data: unknown
}
export type Tell = (told: Told) => Promise<void> | void
