import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { NextCursor, pageLimit } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { KnowledgeViews } from '../../open.ts'
import { takePage } from '../../take-page.ts'
import {
  AsOf,
  EdgeView,
  edgeViewOf,
  graphFor,
  NodeId,
  NodeView,
  nodeViewOf,
  requireNode,
} from './graph-view.ts'

export default defineOperation({
  id: 'graph-neighbours',
  description: 'List the edges of a node with the nodes at their other ends.',
  method: 'GET',
  path: '/v1/graph/nodes/{node_id}/neighbours',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    node_id: NodeId,
    direction: z
      .enum(['in', 'out', 'both'])
      .default('both')
      .describe('`out`: edges from the node; `in`: edges to it.'),
    relation: z.string().max(64).exactOptional().describe('Only this relation.'),
    after: z.string().max(600).exactOptional().describe('Cursor: `next` of the previous page.'),
    limit: pageLimit(500, 100),
  }),
  output: z.object({
    as_of: AsOf,
    neighbours: z.array(z.object({ edge: EdgeView, node: NodeView })),
    next: NextCursor,
  }),
  run: async (
    { node_id, direction, relation, after, limit },
    context: Context & KnowledgeViews,
  ) => {
    const { graph, as_of } = await graphFor(context)
    requireNode(graph, node_id)
    const keys = graph.graph.filterEdges(
      node_id,
      (_key, { edge }) =>
        (relation === undefined || edge.relation === relation) &&
        (direction === 'both' || (edge.source === node_id) === (direction === 'out')),
    )
    const page = takePage(keys, { after, limit })
    const now = context.now()
    return {
      as_of,
      neighbours: page.flatMap(key => {
        const edge = graph.edge(key)
        const node = graph.node(edge.source === node_id ? edge.target : edge.source)
        if (node === undefined) return []
        return [{ edge: edgeViewOf(graph, edge, key, now), node: nodeViewOf(node) }]
      }),
      next: page.length === limit ? (page.at(-1) ?? null) : null,
    }
  },
})
