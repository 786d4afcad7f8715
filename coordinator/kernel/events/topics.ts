import type { CloudEvent } from './bus.ts'

/** A family of events: its audience, scope and meaning. */
interface Topic {
  /** Prefix of the event types. */
  prefix: string
  /** `operator`: keys with an operator role; `key`: every key; `requester`: callers that may see the task. */
  audience: 'operator' | 'key' | 'requester'
  /** `fleet`: the same for all tenants; `tenant`: for the one that `data.tenant_id` names. */
  scope: 'fleet' | 'tenant'
  says: string
}

/** Tells readers that events are missing; it belongs to no family and reaches every stream. */
export const GAP_TYPE = 'shoal.events.gap'

/** Every family. An event whose type is in no family is not sent to clients. */
export const EVENT_TOPICS: readonly Topic[] = [
  {
    prefix: 'shoal.cell.',
    audience: 'operator',
    scope: 'fleet',
    says: 'a cell changed presence, or was enrolled, quarantined, released, revoked or left',
  },
  {
    prefix: 'shoal.fleet.',
    audience: 'operator',
    scope: 'fleet',
    says: 'over half of the fleet was lost at once, or is back',
  },
  {
    prefix: 'shoal.model.',
    audience: 'operator',
    scope: 'fleet',
    says: 'a model was loaded or unloaded',
  },
  {
    prefix: 'shoal.alert.',
    audience: 'operator',
    scope: 'fleet',
    says: 'an alert was raised, changed or cleared',
  },
  {
    prefix: 'shoal.device.',
    audience: 'operator',
    scope: 'fleet',
    says: 'a device was added, changed, removed, taken over by another cell, or became available or unavailable',
  },
  {
    prefix: 'shoal.discovery.',
    audience: 'operator',
    scope: 'fleet',
    says: 'the inventory around the cells changed, or several things carry one key',
  },
  {
    prefix: 'shoal.audit.',
    audience: 'operator',
    scope: 'fleet',
    says: 'the audit chain is broken',
  },
  {
    prefix: 'shoal.policy.',
    audience: 'operator',
    scope: 'fleet',
    says: 'another policy is in force',
  },
  {
    prefix: 'shoal.gate.',
    audience: 'operator',
    scope: 'tenant',
    says: 'a gate request was made, voted on, approved, blocked, used or ended',
  },
  {
    prefix: 'shoal.job.',
    audience: 'operator',
    scope: 'tenant',
    says: 'a job failed permanently',
  },
  {
    prefix: 'shoal.webhook.',
    audience: 'operator',
    scope: 'tenant',
    says: 'a webhook was slowed, has caught up, was disabled or tested',
  },
  {
    prefix: 'shoal.session.',
    audience: 'operator',
    scope: 'tenant',
    says: 'an agent session made a step, was ended by its supervisor, or expired',
  },
  {
    prefix: 'shoal.peer.',
    audience: 'operator',
    scope: 'tenant',
    says: 'an operator claimed, renewed or released a role, or completed a handshake',
  },
  {
    prefix: 'shoal.conversation.',
    audience: 'key',
    scope: 'tenant',
    says: 'a conversation has a new message',
  },
  {
    prefix: 'shoal.task.',
    audience: 'requester',
    scope: 'tenant',
    says: 'a task changed its state',
  },
]

/** All families as a list for error messages. */
export const FAMILIES: string = EVENT_TOPICS.map(({ prefix }) => `${prefix}*`).join(', ')

/** A client that receives events. */
export interface Hearer {
  tenantId: string
  operator: boolean
  /** True when the client may see a task of this origin. */
  sees: (asked: TaskOrigin) => boolean
}

/** Origin of a task, from the event's `key_id`, `person_id` and `operation`. */
interface TaskOrigin {
  keyId: string | undefined
  personId: string | undefined
  operationId: string | undefined
}

export const topicOf = (type: string): Topic | undefined =>
  EVENT_TOPICS.find(({ prefix }) => type.startsWith(prefix))

/** True when the client may receive the event. */
export const mayHear = (event: CloudEvent, { tenantId, operator, sees }: Hearer): boolean => {
  const topic = topicOf(event.type)
  if (topic === undefined || (topic.audience === 'operator' && !operator)) return false
  if (topic.scope === 'tenant' && fieldOf(event, 'tenant_id') !== tenantId) return false
  return topic.audience !== 'requester' || sees(requesterOf(event))
}

const requesterOf = (event: CloudEvent): TaskOrigin => ({
  keyId: fieldOf(event, 'key_id'),
  personId: fieldOf(event, 'person_id'),
  operationId: fieldOf(event, 'operation'),
})

const fieldOf = ({ data }: CloudEvent, field: string): string | undefined => {
  const value = (data as Record<string, unknown> | null)?.[field]
  return typeof value === 'string' ? value : undefined
}

/** A whole type, or a family with a star: `shoal.gate.approved`, `shoal.cell.*`, `*`. */
export const TYPE_PATTERN: RegExp = /^(\*|shoal\.\*|shoal(\.[a-z0-9_-]{1,64}){1,6}(\.\*)?)$/

/** True when a pattern can match events: it names a family, or all of them. */
export const canCome = (pattern: string): boolean =>
  pattern === '*' || pattern === 'shoal.*' || topicOf(pattern) !== undefined

/** True when the type matches one of the patterns; no patterns match everything. */
export const isWanted = (type: string, patterns: readonly string[]): boolean =>
  patterns.length === 0 ||
  patterns.some(pattern =>
    pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern,
  )
