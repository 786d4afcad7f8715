import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { KnowledgeViews } from '../../open.ts'
import { AsOf, graphFor, NodeId, NodeView, nodeViewOf, requireNode } from './graph-view.ts'

export default defineOperation({
  id: 'graph-node',
  description: 'Show one node of the knowledge graph with its text and the number of its edges.',
  method: 'GET',
  path: '/v1/graph/nodes/{node_id}',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({ node_id: NodeId }),
  output: NodeView.extend({
    as_of: AsOf,
    text: z.string(),
    /** Edges by direction and relation: `out requires`. */
    relations: z.record(z.string(), z.int()),
    incoming: z.int(),
    outgoing: z.int(),
  }),
  run: async ({ node_id }, context: Context & KnowledgeViews) => {
    const { graph, as_of } = await graphFor(context)
    const node = requireNode(graph, node_id)
    const relations: Record<string, number> = {}
    graph.graph.forEachEdge(node_id, (_key, { edge }) => {
      const name = `${edge.source === node_id ? 'out' : 'in'} ${edge.relation}`
      relations[name] = (relations[name] ?? 0) + 1
    })
    return {
      ...nodeViewOf(node),
      as_of,
      text: node.text,
      relations,
      incoming: graph.graph.inDegree(node_id),
      outgoing: graph.graph.outDegree(node_id),
    }
  },
})
