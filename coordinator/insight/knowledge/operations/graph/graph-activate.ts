import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { pageLimit } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { KnowledgeViews } from '../../open.ts'
import { ActivationView, activateFor, Hops } from './activation-view.ts'
import { NodeId } from './graph-view.ts'

export default defineOperation({
  id: 'graph-activate',
  description:
    'Activate nodes that belong together: find what lies between and around them, and strengthen the edges of the strongest paths.',
  method: 'POST',
  path: '/v1/graph/activate',
  access: 'operator',
  effect: 'write',
  input: z.strictObject({
    seeds: z.array(NodeId).min(1).max(16).describe('Ids of the nodes that are active together.'),
    hops: Hops.default(2),
    limit: pageLimit(100, 20),
    learn: z.boolean().default(true).describe('False leaves the learned strengths as they are.'),
  }),
  output: ActivationView,
  examples: [{ seeds: ['gate:gate.major-release-approve', 'agent-role:architecture'] }],
  run: ({ seeds, ...input }, context: Context & KnowledgeViews) =>
    activateFor({ seeds: [...new Set(seeds)], query: undefined, ...input }, context),
})
