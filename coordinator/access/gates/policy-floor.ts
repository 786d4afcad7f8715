import { KEY_KINDS, ROLES } from '../../kernel/declaration/key.ts'
import type { DecideBy } from './decide.ts'
import { type Gates, loadShippedGates } from './definition.ts'
import type { Rule } from './policy-document.ts'

export const POLICY_GATE = 'gate.policy-change'

/**
 * Limits that no policy and no configuration may relax for the gate that guards the rules: at least
 * as many people as the shipped gate, of no other roles, for no longer; and no rule may allow a
 * change of the rules without it.
 */
export const floorFaults = (gates: Gates, rules: readonly Rule[], decide: DecideBy): string[] => [
  ...gateFaults(gates),
  ...['policy.change', 'gate.change']
    .filter(action => isOpen(action, rules, decide))
    .map(action => `${action} must ask ${POLICY_GATE} or be denied`),
]

const gateFaults = (gates: Gates): string[] => {
  const floor = loadShippedGates()[POLICY_GATE]
  const gate = gates[POLICY_GATE]
  if (floor === undefined || gate === undefined) return [`${POLICY_GATE} is missing`]
  const roles = new Set(floor.approvals.flat())
  const faults = [
    gate.approvals.length < floor.approvals.length &&
      `must ask ${floor.approvals.length} people at least`,
    gate.approvals.flat().some(role => !roles.has(role)) &&
      `is decided by ${[...roles].join(' and ')} alone`,
    gate.approval_minutes > floor.approval_minutes &&
      `must not be open for more than ${floor.approval_minutes} minutes`,
  ]
  return faults.filter(fault => fault !== false).map(fault => `${POLICY_GATE} ${fault}`)
}

/**
 * True when some key could be allowed, or is sent to another gate, with any context: a context
 * matches a rule with exactly the values that the rule requires.
 */
const isOpen = (action: string, rules: readonly Rule[], decide: DecideBy): boolean => {
  const about = rules.filter(rule => knows(rule, action, decide))
  return [{}, ...about.map(({ when = {} }) => when)].some(context =>
    KEY_KINDS.some(kind =>
      [...ROLES.map(role => [role]), [...ROLES]].some(roles => {
        const { decision, gateId } = decide(about, action, { kind, roles }, context)
        return decision === 'allowed' || (decision === 'needs_gate' && gateId !== POLICY_GATE)
      }),
    ),
  )
}

/** True when a rule can match the action; the other rules are skipped, since there may be many. */
const knows = (rule: Rule, action: string, decide: DecideBy): boolean => {
  const { kinds: [kind = 'person' as const] = [], when } = rule
  return decide([rule], action, { kind, roles: ROLES }, when).ruleId !== undefined
}
