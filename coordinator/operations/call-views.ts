import { createCallStats } from './call-stats.ts'
import type { CallViews } from './context.ts'
import type { SkillFacts } from './declaration.ts'

/** The skills as operations see them, and how calls went. */
export const createCallViews = (skills: readonly SkillFacts[], now: () => number): CallViews => ({
  skills,
  calls: createCallStats(),
  now,
})
