import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../../kernel/declaration/tenant-scope.ts'
import type { KnowledgeViews } from '../../open.ts'
import { LearningView, learningOf } from './learning-view.ts'

/** Edges in the answer. */
const SHOWN = 20

export default defineOperation({
  id: 'graph-learning-set',
  description:
    'Change how the knowledge graph of your tenant learns: switch it on or off, set rate and half-life, or forget everything.',
  method: 'PUT',
  path: '/v1/graph/learning',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  input: z.strictObject({
    enabled: z
      .boolean()
      .exactOptional()
      .describe('False: activations strengthen nothing; learned strengths stay and decay.'),
    rate_percent: z
      .int()
      .min(1)
      .max(100)
      .exactOptional()
      .describe('Part of the distance to full strength that one full activation closes.'),
    half_life_hours: z
      .int()
      .min(1)
      .max(8760)
      .exactOptional()
      .describe('Time in which an unused strength falls to one half.'),
    forget: z.boolean().default(false).describe('True deletes every learned strength.'),
  }),
  output: LearningView,
  examples: [{ enabled: true, half_life_hours: 168 }],
  run: async (
    { enabled, rate_percent, half_life_hours, forget },
    context: Context & KnowledgeViews,
  ) => {
    const change = {
      forget,
      ...(enabled !== undefined && { enabled }),
      ...(rate_percent !== undefined && { ratePercent: rate_percent }),
      ...(half_life_hours !== undefined && { halfLifeHours: half_life_hours }),
    }
    await context.knowledge.setLearning(scopeOf(context).tenantId, change, context.actor)
    return learningOf(context, SHOWN)
  },
})
