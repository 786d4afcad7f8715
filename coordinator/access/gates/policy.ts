import { hash } from 'node:crypto'
import { canonicalJson } from '../../../shared/canonical-json.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { firstIssue } from '../../../shared/first-issue.ts'
import type { Decide, DecideBy, PolicyAsker } from './decide.ts'
import type { Gates } from './definition.ts'
import { type PolicyDocument as Document, PolicyDocument, type Rule } from './policy-document.ts'
import { floorFaults } from './policy-floor.ts'
import { readPolicyFile } from './policy-yaml.ts'

/** Human-approval boundary: actions that are allowed, need approval, or are denied. */
export interface Policy {
  version: string
  /** SHA-256 of the document in canonical JSON, hexadecimal. */
  hash: string
  /** The document as written, before defaults. */
  document: unknown
  /** Gates in force with the policy: its own, which override the configured ones. */
  gates: Gates
  /** The first matching rule decides; the default is deny. */
  decide: Decide
}

export const SHIPPED_POLICY_FILE = new URL('policy.yaml', import.meta.url)

/** Throws `config_invalid` for a file that cannot be read, and when one of its tests fails. */
export const loadPolicy = (file: string | URL, configured: Gates): Policy =>
  policyOf(readPolicyFile(file), configured, String(file))

/** Throws `config_invalid` with the faults of a document. */
export const policyOf = (document: unknown, configured: Gates, name = 'policy'): Policy => {
  const read = readPolicy(document, configured)
  if ('policy' in read) return read.policy
  throw new ShoalError('config_invalid', `${name}: ${read.faults.join('; ')}`)
}

/** Returns the policy of a document after its table of tests has passed, or every fault found. */
export const readPolicy = (
  document: unknown,
  configured: Gates,
): { policy: Policy } | { faults: string[] } => {
  const { data, error } = PolicyDocument.safeParse(document)
  if (error) {
    return { faults: [firstIssue(error, document).message] }
  }
  if (hasPrototypeName(document)) return { faults: ['no member can have the name __proto__'] }
  const gates: Gates = { ...configured, ...data.gates }
  const decide: Decide = (...question) => decideBy(data.rules, ...question)
  const faults = [
    ...ruleFaults(data, gates),
    ...testFaults(data, decide),
    ...floorFaults(gates, data.rules, decideBy),
  ]
  if (faults.length > 0) return { faults }
  const { version } = data
  return {
    policy: { version, hash: hash('sha256', canonicalJson(document)), document, gates, decide },
  }
}

/**
 * True when a member has the name of a prototype property; zod skips such members, so the rule
 * would decide without a condition that readers see.
 */
const hasPrototypeName = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Object.hasOwn(value, '__proto__') || Object.values(value).some(hasPrototypeName))

const ruleFaults = ({ rules }: Document, gates: Gates): string[] =>
  rules.flatMap(({ id, decision, gate }, at) => {
    if (rules.findIndex(other => other.id === id) !== at) return [`rule ${id} is declared twice`]
    if (decision === 'needs_gate' && gate === undefined) return [`rule ${id} names no gate`]
    if (gate !== undefined && !Object.hasOwn(gates, gate))
      return [`rule ${id}: there is no ${gate}`]
    return []
  })

const testFaults = ({ tests }: Document, decide: Decide): string[] =>
  tests.flatMap(({ action_type, kind, roles, context, expect, gate }, at) => {
    const { decision, gateId } = decide(action_type, { kind, roles }, context)
    const who = `test ${at + 1}: ${action_type} by ${kind} (${roles.join(', ')})`
    if (decision !== expect) return [`${who} is ${decision}, not ${expect}`]
    return gateId === gate || gate === undefined ? [] : [`${who} asks ${gateId}, not ${gate}`]
  })

const decideBy: DecideBy = (rules, actionType, asker, context = {}) => {
  const rule = rules.find(each => matchesRule(each, actionType, asker, context))
  if (rule === undefined)
    return {
      decision: 'denied',
      gateId: undefined,
      ruleId: undefined,
      reason: `no rule covers ${actionType}; the default is deny`,
    }
  return { decision: rule.decision, gateId: rule.gate, ruleId: rule.id, reason: rule.reason }
}

const matchesRule = (
  { actions, kinds, roles, when }: Rule,
  actionType: string,
  asker: PolicyAsker,
  context: Record<string, unknown>,
): boolean =>
  actions.some(pattern => matchesPattern(pattern, actionType)) &&
  (kinds === undefined || kinds.includes(asker.kind)) &&
  (roles === undefined || roles.some(role => asker.roles.includes(role))) &&
  Object.entries(when ?? {}).every(([name, value]) => isEqual(ownMember(context, name), value))

const matchesPattern = (pattern: string, actionType: string): boolean => {
  if (pattern === '*') return true
  return pattern.endsWith('.*')
    ? actionType.startsWith(pattern.slice(0, -1))
    : actionType === pattern
}

const ownMember = (context: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(context, name) ? context[name] : undefined

/** A value without canonical JSON, such as a lone surrogate, matches no rule. */
const isEqual = (value: unknown, wanted: unknown): boolean => {
  try {
    return canonicalJson(value) === canonicalJson(wanted)
  } catch {
    return false
  }
}
