import { RISK_RULES } from './risk-rules.ts'
import type { RuleSubject } from './subject.ts'

export const RISK_LEVELS = ['none', 'low', 'medium', 'high', 'critical'] as const
type RiskLevel = (typeof RISK_LEVELS)[number]

export interface Risk {
  level: RiskLevel
  points: number
  /** What adds to it, the heaviest first. */
  reasons: { id: string; points: number; reason: string }[]
}

/** Points from which a level holds, highest first. */
const STEPS: readonly (readonly [number, RiskLevel])[] = [
  [80, 'critical'],
  [50, 'high'],
  [25, 'medium'],
  [1, 'low'],
]

export const judgeRisk = (subject: RuleSubject): Risk => {
  const reasons = RISK_RULES.flatMap(({ id, points, find }) => {
    const reason = find(subject)
    return reason === undefined ? [] : [{ id, points, reason }]
  }).toSorted((a, b) => b.points - a.points)
  const points = reasons.reduce((sum, reason) => sum + reason.points, 0)
  return { level: STEPS.find(([least]) => points >= least)?.[1] ?? 'none', points, reasons }
}
