import type { KeyKind } from '../keys/key.ts'
import type { Decision, Rule } from './policy-document.ts'

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

export type Decide = (
  actionType: string,
  asker: PolicyAsker,
  context?: Record<string, unknown>,
) => Verdict

/** The same by these rules. */
export type DecideBy = (rules: readonly Rule[], ...question: Parameters<Decide>) => Verdict
