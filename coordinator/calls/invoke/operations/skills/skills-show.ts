import * as z from 'zod'
import { createUnknownError } from '../../../../../shared/reference-errors.ts'
import { Id } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { CallViews } from '../../call-views.ts'
import { SkillDetails, skillDetails } from './skill-view.ts'

export default defineOperation({
  id: 'skills-show',
  description: 'Show one skill with its input and output schemas.',
  method: 'GET',
  path: '/v1/skills/{skill_id}',
  access: 'key',
  effect: 'read',
  tool: false,
  input: z.strictObject({ skill_id: Id }),
  output: SkillDetails,
  run: ({ skill_id }, { skills }: CallViews) => {
    const skill = skills.find(({ id }) => id === skill_id)
    if (skill === undefined) throw createUnknownError('skill', skill_id)
    return skillDetails(skill)
  },
})
