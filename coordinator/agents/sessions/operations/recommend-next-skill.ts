import * as z from 'zod'
import type { GateViews } from '../../../access/gates/open.ts'
import type { CallViews } from '../../../calls/invoke/call-views.ts'
import type { MonitorViews } from '../../../fleet/alerts/open-monitor.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { ModelViews } from '../../../fleet/models/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { AgentViews } from '../open.ts'
import { recommendationsFor, rolesFor } from './briefing.ts'
import { RecommendationView, RoleInput } from './briefing-view.ts'

export default defineSkill({
  id: 'recommend-next-skill',
  group: 'agents',
  name: 'Recommend next skill',
  description:
    'Recommend the next skill to call: first for open trouble, then for pending work, then in the usual order.',
  tags: ['agents', 'skills'],
  access: 'key',
  effect: 'read',
  input: RoleInput,
  output: z.object({
    roles: z.array(z.string()),
    skill: z
      .string()
      .nullable()
      .describe('First recommendation; null when the key may call no skill.'),
    recommendations: z.array(RecommendationView),
  }),
  examples: [{ role: 'operations' }],
  run: async (
    { role },
    context: Context & AgentViews & CallViews & FleetViews & GateViews & ModelViews & MonitorViews,
  ) => {
    const { roles, lastSkill } = await rolesFor(role, context)
    const recommendations = await recommendationsFor(roles, context, lastSkill)
    return {
      roles: roles.map(({ id }) => id),
      skill: recommendations[0]?.skill ?? null,
      recommendations,
    }
  },
})
