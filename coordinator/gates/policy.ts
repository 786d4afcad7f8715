import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import { firstIssue } from '../../shared/wire/openai.ts'
import { KEY_KINDS, type KeyKind, ROLES } from '../keys/key.ts'
import { GateId } from './definition.ts'

const DECISIONS = ['allowed', 'needs_gate', 'denied'] as const
export type Decision = (typeof DECISIONS)[number]

/** `device.command.unsafe`, or with a star at the end everything that begins so. */
const ActionPattern = z.string().regex(/^[a-z0-9_-]+(\.[a-z0-9_-]+)*(\.\*)?$|^\*$/)

const Rule = z.strictObject({
  id: z.string().min(1),
  actions: z.array(ActionPattern).min(1),
  /** Kinds of keys that it holds for; all when absent. */
  kinds: z.array(z.enum(KEY_KINDS)).min(1).optional(),
  /** It holds for who has one of these; for all when absent. */
  roles: z.array(z.enum(ROLES)).min(1).optional(),
  /** Members that the context must have with just these values. */
  when: z.record(z.string(), z.json()).optional(),
  decision: z.enum(DECISIONS),
  gate: GateId.optional(),
  reason: z.string().min(1),
})
export type Rule = z.output<typeof Rule>

const Case = z.strictObject({
  action_type: z.string(),
  kind: z.enum(KEY_KINDS).default('person'),
  roles: z.array(z.enum(ROLES)).default(['client']),
  context: z.record(z.string(), z.json()).default({}),
  expect: z.enum(DECISIONS),
  gate: GateId.optional(),
})

const PolicyDocument = z.strictObject({
  version: z.string().min(1),
  rules: z.array(Rule).min(1),
  /** What the rules must come to; looked at each time they are loaded. */
  tests: z.array(Case).min(1),
})
export type PolicyDocument = z.output<typeof PolicyDocument>

export interface PolicyAsker {
  kind: KeyKind
  roles: readonly string[]
}

export interface Verdict {
  decision: Decision
  /** With `needs_gate`. */
  gateId: string | undefined
  /** The rule that says so; undefined when no rule knows the action. */
  ruleId: string | undefined
  reason: string
}

/** The human-approval boundary: what may be done, what asks people first, what is never done. */
export interface Policy {
  version: string
  rules: readonly Rule[]
  /** The first rule that fits decides; what no rule knows is denied. */
  decide(actionType: string, asker: PolicyAsker, context?: Record<string, unknown>): Verdict
}

export const SHIPPED_POLICY_FILE = new URL('policy.yaml', import.meta.url)

/** Throws `config_invalid` for a file that cannot be read, and when one of its own tests fails. */
export const loadPolicy = (file: string | URL, gateIds: ReadonlySet<string> = new Set()): Policy =>
  policyOf(documentOf(file), gateIds, String(file))

const documentOf = (file: string | URL): unknown => {
  try {
    return parse(readFileSync(file, 'utf8'))
  } catch (cause) {
    throw new ShoalError('config_invalid', `policy ${file} cannot be read`, { cause })
  }
}

/** The policy of a document, after its own table of tests has passed. */
export const policyOf = (
  document: unknown,
  gateIds: ReadonlySet<string>,
  name = 'policy',
): Policy => {
  const { data, error } = PolicyDocument.safeParse(document)
  if (error) {
    const { param, message } = firstIssue(error)
    throw new ShoalError('config_invalid', `${name}: ${param ?? ''} ${message}`)
  }
  const faults = [...gateFaults(data, gateIds), ...testFaults(data)]
  if (faults.length > 0) throw new ShoalError('config_invalid', `${name}: ${faults.join('; ')}`)
  return {
    version: data.version,
    rules: data.rules,
    decide: (actionType, asker, context = {}) => decide(data.rules, actionType, asker, context),
  }
}

const gateFaults = ({ rules }: PolicyDocument, gateIds: ReadonlySet<string>): string[] =>
  rules.flatMap(({ id, decision, gate }) => {
    if (decision === 'needs_gate' && gate === undefined) return [`rule ${id} names no gate`]
    if (gate !== undefined && !gateIds.has(gate)) return [`rule ${id}: there is no ${gate}`]
    return []
  })

const testFaults = ({ rules, tests }: PolicyDocument): string[] =>
  tests.flatMap(({ action_type, kind, roles, context, expect, gate }) => {
    const { decision, gateId } = decide(rules, action_type, { kind, roles }, context)
    const who = `${action_type} by ${kind} (${roles.join(', ')})`
    if (decision !== expect) return [`test: ${who} is ${decision}, not ${expect}`]
    return gateId === gate || gate === undefined ? [] : [`test: ${who} asks ${gateId}, not ${gate}`]
  })

const decide = (
  rules: readonly Rule[],
  actionType: string,
  asker: PolicyAsker,
  context: Record<string, unknown>,
): Verdict => {
  const rule = rules.find(each => fits(each, actionType, asker, context))
  if (rule === undefined)
    return {
      decision: 'denied',
      gateId: undefined,
      ruleId: undefined,
      reason: `no rule knows ${actionType}; what is unknown is not done`,
    }
  return { decision: rule.decision, gateId: rule.gate, ruleId: rule.id, reason: rule.reason }
}

const fits = (
  { actions, kinds, roles, when }: Rule,
  actionType: string,
  asker: PolicyAsker,
  context: Record<string, unknown>,
): boolean =>
  actions.some(pattern => matches(pattern, actionType)) &&
  (kinds === undefined || kinds.includes(asker.kind)) &&
  (roles === undefined || roles.some(role => asker.roles.includes(role))) &&
  Object.entries(when ?? {}).every(([name, value]) => isEqual(ownMember(context, name), value))

const matches = (pattern: string, actionType: string): boolean => {
  if (pattern === '*') return true
  return pattern.endsWith('.*')
    ? actionType.startsWith(pattern.slice(0, -1))
    : actionType === pattern
}

const ownMember = (context: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(context, name) ? context[name] : undefined

const isEqual = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)
