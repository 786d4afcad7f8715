import { ShoalError } from '../../shared/errors.ts'
import { callOperation } from './call.ts'
import { createCallStats } from './call-stats.ts'
import type { CardSkill } from './card-skill.ts'
import type { CallViews } from './context.ts'
import type { Operation } from './operation.ts'

/** The skills as operations see and call them. */
export const createCallViews = (
  skills: readonly (CardSkill & Operation)[],
  now: () => number,
): CallViews => {
  const byId = new Map(skills.map(skill => [skill.id, skill]))
  return {
    skills,
    calls: createCallStats(),
    callSkill: async (id, input, context) => {
      const skill = byId.get(id)
      if (skill === undefined)
        throw new ShoalError('not_found', `no skill ${id}`, { param: 'skill' })
      return callOperation(skill, input, context)
    },
    now,
  }
}
