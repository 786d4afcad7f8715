import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { KnowledgeViews } from '../open.ts'
import { ActivationView, activateFor, Hops } from './graph/activation-view.ts'
import { NodeId } from './graph/graph-view.ts'

/** Nodes in an answer. */
const SHOWN = 20

export default defineSkill({
  id: 'neural-query',
  group: 'governance',
  name: 'Neural query',
  description:
    'Find what is related to a node or a text by spreading activation over the knowledge graph, with the path to each result.',
  tags: ['knowledge', 'graph'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    seed: NodeId.exactOptional().describe(
      'Id of the node to start from, such as `skill:dns-scan`.',
    ),
    hops: Hops.default(2),
    query: z
      .string()
      .min(1)
      .max(500)
      .exactOptional()
      .describe('Text to start from in place of a node; the five best hits are the seeds.'),
  }),
  output: ActivationView,
  examples: [{ query: 'approval of a release' }, { seed: 'gate:gate.minor-release-approve' }],
  run: ({ seed, hops, query }, context: Context & KnowledgeViews) => {
    if (seed === undefined && query === undefined)
      throw new ShoalError('invalid_request', 'give a node in seed or a text in query', {
        param: 'query',
      })
    const seeds = seed === undefined ? [] : [seed]
    return activateFor({ seeds, query, hops, limit: SHOWN, learn: false }, context)
  },
})
