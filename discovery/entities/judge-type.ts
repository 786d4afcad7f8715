import type { RuleSubject } from './subject.ts'
import { type EntityType, TYPE_RULES } from './type-rules.ts'

/** A type that facts speak for. */
export interface TypeGuess {
  type: EntityType
  /** Probability by the rules, 0 to 1. */
  confidence: number
  evidence: string[]
}

/** Least probability with which a type is named. */
const MIN_CONFIDENCE = 0.4

/** The two likeliest types, best first; `unknown` alone when nothing speaks for any. */
export const judgeType = (subject: RuleSubject): [TypeGuess, ...TypeGuess[]] => {
  const guesses = new Map<EntityType, { wrong: number; evidence: string[] }>()
  for (const { type, weight, find } of TYPE_RULES) {
    const evidence = find(subject)
    if (evidence === undefined) continue
    const guess = guesses.get(type) ?? { wrong: 1, evidence: [] }
    guesses.set(type, {
      wrong: guess.wrong * (1 - weight),
      evidence: [...guess.evidence, evidence],
    })
  }
  const [best, second] = [...guesses]
    .map(([type, { wrong, evidence }]) => ({ type, confidence: round(1 - wrong), evidence }))
    .filter(({ confidence }) => confidence >= MIN_CONFIDENCE)
    .toSorted((a, b) => b.confidence - a.confidence)
  if (best === undefined) return [{ type: 'unknown', confidence: 0, evidence: [] }]
  return second === undefined ? [best] : [best, second]
}

const round = (value: number): number => Math.round(value * 1000) / 1000
