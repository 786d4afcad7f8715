import type { KeyKind } from '../../kernel/declaration/key.ts'
import type { Decision, Rule } from './policy-document.ts'

export interface PolicyAsker {
  kind: KeyKind
  roles: readonly string[]
}

interface Verdict {
  decision: Decision
  /** Gate of a decision `needs_gate`; undefined for others. */
  gateId: string | undefined
  /** The matching rule; undefined when no rule matches the action. */
  ruleId: string | undefined
  reason: string
}

export type Decide = (
  actionType: string,
  asker: PolicyAsker,
  context?: Record<string, unknown>,
) => Verdict

/** Decides by the given rules. */
export type DecideBy = (rules: readonly Rule[], ...question: Parameters<Decide>) => Verdict
