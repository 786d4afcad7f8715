import type { CallViews } from '../../kernel/declaration/context.ts'
import type { SkillFacts } from '../../kernel/declaration/declaration.ts'
import { createCallStats } from './call-stats.ts'

/** The skills as operations see them, and how calls went. */
export const createCallViews = (skills: readonly SkillFacts[], now: () => number): CallViews => ({
  skills,
  calls: createCallStats(),
  now,
})
