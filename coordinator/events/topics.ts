import type { CloudEvent } from './bus.ts'

/** A family of events: who may hear them, and what they tell. */
export interface Topic {
  /** The beginning of their types. */
  prefix: string
  /** `operator`: keys with an operator role; `key`: every key; `asker`: who sees the task. */
  audience: 'operator' | 'key' | 'asker'
  /** `fleet`: the same for all tenants; `tenant`: for the one that `data.tenant_id` names. */
  scope: 'fleet' | 'tenant'
  says: string
}

/** Every family there is. An event of no family reaches nobody outside: it was forgotten here. */
export const TOPICS: readonly Topic[] = [
  {
    prefix: 'shoal.cell.',
    audience: 'operator',
    scope: 'fleet',
    says: 'presence of a cell changed, or it was enrolled, quarantined, released, revoked, left',
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
    says: 'a device appeared, changed or was commanded',
  },
  {
    prefix: 'shoal.discovery.',
    audience: 'operator',
    scope: 'fleet',
    says: 'what was found around the fleet changed',
  },
  {
    prefix: 'shoal.audit.',
    audience: 'operator',
    scope: 'fleet',
    says: 'the chain of the audit is broken',
  },
  {
    prefix: 'shoal.policy.',
    audience: 'operator',
    scope: 'fleet',
    says: 'another policy holds from now on',
  },
  {
    prefix: 'shoal.gate.',
    audience: 'operator',
    scope: 'tenant',
    says: 'a request at a gate was made, voted on, approved, blocked, used or ended',
  },
  {
    prefix: 'shoal.job.',
    audience: 'operator',
    scope: 'tenant',
    says: 'a job of the queue was given up',
  },
  {
    prefix: 'shoal.webhook.',
    audience: 'operator',
    scope: 'tenant',
    says: 'a webhook was disabled, or is being tested',
  },
  {
    prefix: 'shoal.session.',
    audience: 'operator',
    scope: 'tenant',
    says: 'an agent made a step of its session, was ended by its supervisor, or its time was up',
  },
  {
    prefix: 'shoal.peer.',
    audience: 'operator',
    scope: 'tenant',
    says: 'an operator took a role, renewed or gave it up, or shook hands',
  },
  {
    prefix: 'shoal.conversation.',
    audience: 'key',
    scope: 'tenant',
    says: 'something was said in a conversation',
  },
  {
    prefix: 'shoal.task.',
    audience: 'asker',
    scope: 'tenant',
    says: 'a task changed its state',
  },
]

/** All of them in words, for who asked for another. */
export const FAMILIES: string = TOPICS.map(({ prefix }) => `${prefix}*`).join(', ')

/** Who wants to hear. */
export interface Hearer {
  tenantId: string
  operator: boolean
  /** Whether it sees what was asked for so. */
  sees: (asked: Asked) => boolean
}

/** Who asked for what, as events of tasks tell it: `key_id`, `person_id` and `operation`. */
export interface Asked {
  keyId: string | undefined
  personId: string | undefined
  operationId: string | undefined
}

export const topicOf = (type: string): Topic | undefined =>
  TOPICS.find(({ prefix }) => type.startsWith(prefix))

/** True when the event may be told to this hearer. */
export const mayHear = (event: CloudEvent, { tenantId, operator, sees }: Hearer): boolean => {
  const topic = topicOf(event.type)
  if (topic === undefined || (topic.audience === 'operator' && !operator)) return false
  if (topic.scope === 'tenant' && toldBy(event, 'tenant_id') !== tenantId) return false
  return topic.audience !== 'asker' || sees(askedBy(event))
}

const askedBy = (event: CloudEvent): Asked => ({
  keyId: toldBy(event, 'key_id'),
  personId: toldBy(event, 'person_id'),
  operationId: toldBy(event, 'operation'),
})

const toldBy = ({ data }: CloudEvent, field: string): string | undefined => {
  const value = (data as Record<string, unknown> | null)?.[field]
  return typeof value === 'string' ? value : undefined
}

/** A whole type, or a family with a star: `shoal.gate.approved`, `shoal.cell.*`, `*`. */
export const TYPE_PATTERN: RegExp = /^(\*|shoal\.\*|shoal(\.[a-z0-9_-]{1,64}){1,6}(\.\*)?)$/

/** Whether there can be events that a pattern asks for: it is of a family, or of all of them. */
export const canCome = (pattern: string): boolean =>
  pattern === '*' || pattern === 'shoal.*' || topicOf(pattern) !== undefined

/** Whether a type is one of those that were asked for; none asked means all. */
export const isWanted = (type: string, patterns: readonly string[]): boolean =>
  patterns.length === 0 ||
  patterns.some(pattern =>
    pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern,
  )
