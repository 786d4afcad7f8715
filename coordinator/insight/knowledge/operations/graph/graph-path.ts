import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { edgeKey } from '../../graph-model.ts'
import type { KnowledgeViews } from '../../open.ts'
import { findPath } from '../../queries/find-path.ts'
import { AsOf, EdgeView, edgeViewOf, graphFor, NodeId, requireNode } from './graph-view.ts'

export default defineOperation({
  id: 'graph-path',
  description:
    'Find a shortest path between two nodes: along the edges, or else regardless of their direction.',
  method: 'GET',
  path: '/v1/graph/path',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    from: NodeId.describe('Id of the first node.'),
    to: NodeId.describe('Id of the last node.'),
  }),
  output: z.object({
    as_of: AsOf,
    is_connected: z.boolean(),
    is_directed: z.boolean().describe('True when every edge is followed from source to target.'),
    /** Number of edges; null without a path. */
    length: z.int().nullable(),
    edges: z.array(EdgeView),
  }),
  examples: [{ from: 'agent-role:release', to: 'role:architect' }],
  run: async ({ from, to }, context: Context & KnowledgeViews) => {
    const { graph, as_of } = await graphFor(context)
    requireNode(graph, from, 'from')
    requireNode(graph, to, 'to')
    const path = findPath(graph, from, to)
    const now = context.now()
    return {
      as_of,
      is_connected: path !== undefined,
      is_directed: path?.isDirected ?? false,
      length: path?.edges.length ?? null,
      edges: (path?.edges ?? []).map(edge => edgeViewOf(graph, edge, edgeKey(edge), now)),
    }
  },
})
