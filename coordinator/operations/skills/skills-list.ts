import * as z from 'zod'
import { skills } from '../../skills/index.ts'
import { defineOperation } from '../operation.ts'
import { SkillSummary, skillSummary } from './skill-view.ts'

export default defineOperation({
  id: 'skills-list',
  description: 'List the skills with what they need and what they do.',
  method: 'GET',
  path: '/v1/skills',
  access: 'key',
  effect: 'read',
  tool: false,
  input: z.strictObject({}),
  output: z.object({ skills: z.array(SkillSummary) }),
  run: () => ({ skills: skills.map(skillSummary) }),
})
