import * as z from 'zod'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { CallViews } from '../../call-views.ts'
import { SkillSummary, skillSummary } from './skill-view.ts'

export default defineOperation({
  id: 'skills-list',
  description: 'List the skills with their requirements and effects.',
  method: 'GET',
  path: '/v1/skills',
  access: 'key',
  effect: 'read',
  tool: false,
  input: z.strictObject({}),
  output: z.object({ skills: z.array(SkillSummary) }),
  run: (_input, { skills }: CallViews) => ({ skills: skills.map(skillSummary) }),
})
