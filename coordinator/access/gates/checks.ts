import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import * as z from 'zod'
import { lazy } from '../../../shared/lazy.ts'
import { DAY_MS } from '../../../shared/time.ts'
import { type Key, OPERATOR_ROLES } from '../../kernel/declaration/key.ts'
import { isLive, isOperator } from '../keys/key.ts'
import type { DecidedRequest } from './decided.ts'
import { type Gates, loadShippedGates } from './definition.ts'
import type { Check, GovernanceFacts } from './facts.ts'
import { rulesFault } from './rules-fault.ts'
import { areSeatsFilled } from './seats.ts'

const CheckData = z.strictObject({ id: z.string(), title: z.string(), evidence: z.string() })
type CheckData = z.output<typeof CheckData>

/** The checks, in display order. */
export const listChecks = lazy(
  (): readonly CheckData[] =>
    z
      .strictObject({ checks: z.array(CheckData) })
      .parse(parse(readFileSync(new URL('checks.yaml', import.meta.url), 'utf8'))).checks,
)

export interface CheckResult extends CheckData {
  passed: boolean
  /** Reason for the failure; undefined when the check passes. */
  reason: string | undefined
}

/** Runs every check. A check that throws has failed. */
export const runChecks = (facts: GovernanceFacts): CheckResult[] =>
  listChecks().map(data => {
    const reason = outcomeOf(data.id, facts)
    return { ...data, passed: reason === undefined, reason }
  })

const outcomeOf = (id: string, facts: GovernanceFacts): string | undefined => {
  const check = FUNCTIONS[id]
  return check === undefined ? 'this check has no function' : check(facts)
}

const TWO_PEOPLE = [
  'gate.major-release-approve',
  'gate.device-command-critical',
  'gate.swarm-formation-live',
  'gate.policy-change',
]
const SHORT = [
  'gate.device-command-live',
  'gate.device-command-critical',
  'gate.swarm-formation-live',
  'gate.policy-change',
  'gate.repair-run',
  'gate.cell-enroll',
]
const SHORT_MINUTES = 15
const MIN_RETENTION_DAYS = 183
const SLEEPING_DAYS = 90

const ANY_ADMIN = { kind: 'person', roles: ['operator_admin'] } as const
const PROGRAM_KINDS = ['ai_agent', 'autonomous', 'ci_pipeline'] as const

/** Names of the failing items, or undefined when there are none. */
const describeFailing = (names: readonly string[], what: string): string | undefined =>
  names.length === 0 ? undefined : `${what}: ${names.slice(0, 10).join(', ')}`

const approvals = ({ votes }: DecidedRequest) =>
  votes.filter(({ decision }) => decision === 'approve')

/** Seats of requests under superseded rules: at least one operator must have approved. */
const SOMEBODY = [OPERATOR_ROLES]

const seatsOf = (request: DecidedRequest, gates: Gates): readonly (readonly string[])[] => {
  const gate = gates[request.gateId]
  return rulesFault(request, gate) === undefined ? (gate?.approvals ?? SOMEBODY) : SOMEBODY
}

/** Describes requests that fail a check, else those that cannot be checked; undefined without any. */
const describeRequests = (
  failing: readonly DecidedRequest[],
  what: string,
  { unreadableRequests }: Pick<GovernanceFacts, 'unreadableRequests'>,
): string | undefined =>
  describeFailing(idsOf(failing), what) ??
  describeFailing(unreadableRequests, 'requests that cannot be read')

const idsOf = (requests: readonly DecidedRequest[]): string[] => requests.map(({ id }) => id)

const FUNCTIONS: Record<string, Check> = {
  'rules-in-force': ({ gates, policyDrift }) =>
    policyDrift ??
    describeFailing(
      Object.keys(loadShippedGates()).filter(id => gates[id] === undefined),
      'missing',
    ),

  'dual-approval': ({ gates }) =>
    describeFailing(
      TWO_PEOPLE.filter(id => (gates[id]?.approvals.length ?? 0) < 2),
      'one person is enough for',
    ),

  'short-approvals': ({ gates }) =>
    describeFailing(
      SHORT.filter(id => (gates[id]?.approval_minutes ?? Infinity) > SHORT_MINUTES),
      'longer',
    ),

  'unsafe-is-gated': ({ policy }) =>
    describeFailing(
      ['unsafe', 'unknown', 'arm', 'firmware', 'raw'].filter(
        hazard => policy.decide(`device.command.${hazard}`, ANY_ADMIN).decision !== 'needs_gate',
      ),
      'not gated',
    ),

  'unknown-is-denied': ({ policy }) =>
    policy.decide('no.such-action', ANY_ADMIN).decision === 'denied'
      ? undefined
      : 'an action that no rule covers is not denied',

  'programs-never-approve': ({ policy }) =>
    describeFailing(
      PROGRAM_KINDS.filter(
        kind => policy.decide('gate.approve', { ...ANY_ADMIN, kind }).decision !== 'denied',
      ),
      'may approve',
    ),

  'stop-is-free': ({ policy }) =>
    describeFailing(
      ['stop', 'hold', 'land'].filter(
        verb =>
          policy.decide(`device.command.${verb}`, { kind: 'autonomous', roles: ['client'] })
            .decision !== 'allowed',
      ),
      'has to wait',
    ),

  'approvers-exist': ({ gates, keys, now }) =>
    describeFailing(
      Object.entries(gates)
        .filter(([, { approvals: seats }]) => !canPassFor(seats, keys, now))
        .map(([id]) => id),
      'too few people for',
    ),

  'requester-apart': facts =>
    describeRequests(
      facts.requests.filter(request =>
        approvals(request).some(({ personId }) => personId === request.requesterId),
      ),
      'approved by the requester',
      facts,
    ),

  'seats-filled': facts =>
    describeRequests(
      facts.requests.filter(
        request =>
          request.state === 'consumed' &&
          !areSeatsFilled(seatsOf(request, facts.gates), approvals(request)),
      ),
      'used without enough people',
      facts,
    ),

  'used-in-time': facts =>
    describeRequests(
      facts.requests.filter(
        ({ state, consumedAt, approvalExpiresAt = 0 }) =>
          state === 'consumed' && (consumedAt ?? Infinity) >= approvalExpiresAt,
      ),
      'used late',
      facts,
    ),

  'votes-by-people': facts => {
    const programs = new Set(facts.keys.filter(({ kind }) => kind !== 'person').map(({ id }) => id))
    return describeRequests(
      facts.requests.filter(({ votes }) => votes.some(({ keyId }) => programs.has(keyId))),
      'a program has voted on',
      facts,
    )
  },

  'audit-whole': ({ audit }) => (audit.ok ? undefined : (audit.reason ?? 'it is broken')),

  'audit-append-only': ({ audit }) =>
    audit.appendOnly ? undefined : 'the triggers that refuse changes are gone',

  'audit-retention': ({ audit }) =>
    audit.retentionDays >= MIN_RETENTION_DAYS
      ? undefined
      : `it is kept for ${audit.retentionDays} days`,

  'decisions-audited': facts => {
    const { requests, gateRows, audit } = facts
    const isKept = ({ at }: { at: number }): boolean => at > audit.purgedUntil
    const rows = new Set(
      gateRows
        .filter(({ outcome }) => outcome === 'done')
        .map(({ action, subject }) => `${action} ${subject}`),
    )
    return describeRequests(
      requests.filter(
        request =>
          (approvals(request).some(isKept) && !rows.has(`gate.approve ${request.id}`)) ||
          (request.state === 'consumed' &&
            isKept({ at: request.consumedAt ?? Infinity }) &&
            !rows.has(`gate.consumed ${request.id}`)),
      ),
      'no row for',
      facts,
    )
  },

  'keys-have-people': ({ keys, persons }) => {
    const known = new Set(persons.map(({ id, tenantId }) => `${tenantId} ${id}`))
    return describeFailing(
      keys.filter(key => !known.has(`${key.tenantId} ${key.personId}`)).map(({ id }) => id),
      'no contact declared for',
    )
  },

  'program-keys-end': ({ keys, now }) =>
    describeFailing(
      keys
        .filter(key => key.kind !== 'person' && isLive(key, now) && key.expiresAt === undefined)
        .map(({ id }) => id),
      'no end',
    ),

  'no-sleeping-operators': ({ keys, now }) =>
    describeFailing(
      keys
        .filter(key => isOperator(key) && isLive(key, now))
        .filter(key => now - (key.lastUsedAt ?? key.createdAt) > SLEEPING_DAYS * DAY_MS)
        .map(({ id }) => id),
      `not used for ${SLEEPING_DAYS} days`,
    ),

  'no-demo-in-public': ({ keys, listens, now }) =>
    listens.loopbackOnly
      ? undefined
      : describeFailing(
          keys.filter(key => key.tenantId === 'demo' && isLive(key, now)).map(({ id }) => id),
          'live',
        ),

  'encrypted-off-loopback': ({ listens }) =>
    listens.loopbackOnly || listens.encrypted ? undefined : 'an address is served without TLS',

  'cells-sign': ({ cells }) =>
    describeFailing(
      cells
        .filter(({ revokedAt, publicKey }) => revokedAt === undefined && publicKey === undefined)
        .map(({ id }) => id),
      'no key',
    ),

  'quarantine-looked-at': ({ cells, now }) =>
    describeFailing(
      cells
        .filter(({ revokedAt }) => revokedAt === undefined)
        .filter(({ quarantinedAt }) => quarantinedAt !== undefined && now - quarantinedAt > DAY_MS)
        .map(({ id }) => id),
      'waiting',
    ),
}

/** True when the gate can be passed no matter which one person is the requester. */
const canPassFor = (
  seats: readonly (readonly string[])[],
  keys: readonly Key[],
  now: number,
): boolean => {
  const people = new Map<string, Set<string>>()
  for (const key of keys) {
    if (key.kind !== 'person' || !isLive(key, now)) continue
    const roles = people.get(key.personId) ?? new Set()
    for (const role of key.roles) roles.add(role)
    people.set(key.personId, roles)
  }
  const voters = [...people].map(([personId, roles]) => ({ personId, roles: [...roles] }))
  const able = voters.filter(({ roles }) => roles.some(role => seats.flat().includes(role)))
  const excludePerson = (out: string) => able.filter(({ personId }) => personId !== out)
  return (
    areSeatsFilled(seats, able) &&
    able.every(({ personId }) => areSeatsFilled(seats, excludePerson(personId)))
  )
}
