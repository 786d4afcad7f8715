import * as z from 'zod'
import { recommendationsFor, rolesFor } from '../../operations/sessions/briefing.ts'
import { RecommendationView, RoleInput } from '../../operations/sessions/briefing-view.ts'
import { defineSkill } from '../skill.ts'

export default defineSkill({
  id: 'recommend-next-skill',
  name: 'What to call next',
  description:
    'Which skill to call next: first what looks at trouble, then what waits, then the usual order.',
  tags: ['agents', 'skills'],
  access: 'key',
  effect: 'read',
  input: RoleInput,
  output: z.object({
    roles: z.array(z.string()),
    skill: z.string().nullable().describe('The first one; null when the key may call none.'),
    recommendations: z.array(RecommendationView),
  }),
  examples: [{ role: 'operations' }],
  run: async ({ role }, context) => {
    const { roles, lastSkill } = await rolesFor(role, context)
    const recommendations = await recommendationsFor(roles, context, lastSkill)
    return {
      roles: roles.map(({ id }) => id),
      skill: recommendations[0]?.skill ?? null,
      recommendations,
    }
  },
})
