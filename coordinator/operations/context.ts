import type {
  ListTasksRequest,
  ListTasksResponse,
  Task,
  TaskPushNotificationConfig,
} from '@a2a-js/sdk'
import type { Catalogue } from '../../shared/catalogue.ts'
import type { AuditHead } from '../../shared/wire/audit-head.ts'
import type { Agents } from '../agents/agents.ts'
import type { Actor } from '../audit/audit.ts'
import type { Commands } from '../control/commands.ts'
import type { Configs } from '../control/configs.ts'
import type { Conversations } from '../conversations/conversations.ts'
import type { CellSettingsStore } from '../enrolment/cell-settings.ts'
import type { Cells } from '../enrolment/cells.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Monitor } from '../fleet/monitor.ts'
import type { Router } from '../fleet/router.ts'
import type { WaitQueue } from '../fleet/wait-queue.ts'
import type { Declarations } from '../gates/compliance/report.ts'
import type { GateKeeper } from '../gates/gates.ts'
import type { Policies } from '../gates/policies.ts'
import type { Key } from '../keys/key.ts'
import type { Keys } from '../keys/keys.ts'
import type { Vitals } from '../metrics/vitals.ts'
import type { Queue } from '../queue/queue.ts'
import type { TierSettings } from '../quota/tiers.ts'
import type { FleetIdentity } from '../signing/fleet-identity.ts'
import type { Store } from '../store/store.ts'
import type { Tasks } from '../tasks/tasks.ts'
import type { Visitors } from '../visitors/visitors.ts'
import type { Webhooks } from '../webhooks/webhooks.ts'
import type { CallStats } from './call-stats.ts'
import type { SkillFacts } from './declaration.ts'
import type { Outcome } from './invoke/outcome.ts'

/** What operations may look at and act on; narrow views of the parts, never the coordinator. */
export interface Views {
  fleet: Pick<Fleet, 'cell' | 'cells' | 'serves'>
  /** Where requests go; `nowMs` is monotonic. */
  routing: {
    router: Pick<Router, 'all' | 'pools'>
    queue: Pick<WaitQueue, 'lengths'>
    nowMs: () => number
  }
  catalogue: Catalogue
  tiers: TierSettings
  /** Resolves when usage that was recorded before can be read. */
  settleUsage: () => Promise<void>
  cells: Pick<Cells, 'list' | 'get' | 'revoke' | 'release'>
  identity: Omit<FleetIdentity, 'greeted'>
  settings: CellSettingsStore
  monitor: Monitor
  commands: Pick<Commands, 'create' | 'get' | 'list'>
  configs: Pick<Configs, 'set' | 'show'>
  keys: Pick<
    Keys,
    | 'asNow'
    | 'get'
    | 'list'
    | 'rotate'
    | 'retire'
    | 'revoke'
    | 'foundTenant'
    | 'enablePerson'
    | 'enableTenant'
  >
  visitors: Visitors
  gates: GateKeeper
  policies: Omit<Policies, 'close'>
  queue: Omit<Queue, 'add' | 'addWithin' | 'wake'>
  webhooks: Omit<Webhooks, 'active' | 'onChange'>
  /** What the operator says of controls that shoal cannot see. */
  declarations: Declarations
  /** Where the coordinator listens, and whether with TLS. */
  listens: { loopbackOnly: boolean; encrypted: boolean }
  /** How long rows of the audit are kept. */
  auditDays: number
  /** The newest row of it that was signed; undefined before the first. */
  auditHead: () => AuditHead | undefined
  store: Store
  agents: Agents
  /** The skills on the agent card, in its order. */
  skills: readonly SkillFacts[]
  /** Ids of the skills on the agent card, in its order. */
  skillIds: readonly string[]
  /** How operations were called since the start. */
  calls: CallStats
  conversations: Omit<Conversations<Context>, 'close'>
  tasks: TaskViews
  vitals: Omit<Vitals, 'close'>
  /** Unix time, milliseconds. */
  now: () => number
}

/** Tasks that the caller sees. */
export interface TaskViews extends Pick<Tasks, 'run' | 'runs' | 'transitions'> {
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
  /** For people. */
  message?: string
  data?: unknown
}

/** A skill that is called inside another call, with its caller. */
export interface SkillCall {
  input: unknown
  /** Called once the call was admitted, before it runs. */
  admitted?: () => Promise<void>
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
  /** Reports progress; without effect where nobody listens. */
  progress: (progress: Progress) => void
  /** Sends an event to the caller while the call runs; absent where nobody listens. */
  tell?: Tell | undefined
  /** Calls a skill as any surface does. Throws `ShoalError`, such as `not_found`. */
  callSkill: CallSkill
}

export type Tell = (told: { event: string; data: unknown }) => void
