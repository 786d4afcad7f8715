import type { Runtime } from '../../../shared/runtime.ts'
import type { SkillFacts } from '../../kernel/declaration/declaration.ts'
import { type CallStats, createCallStats } from './call-stats.ts'

/** Operations themselves, as other operations see them. */
export interface CallViews {
  /** The skills on the agent card, in its order. */
  skills: readonly SkillFacts[]
  /** Call statistics since the start. */
  calls: CallStats
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Runtime
}

/** The skills as operations see them, and how calls went. */
export const createCallViews = (skills: readonly SkillFacts[], runtime: Runtime): CallViews => ({
  skills,
  calls: createCallStats(),
  now: runtime.now,
  runtime,
})
