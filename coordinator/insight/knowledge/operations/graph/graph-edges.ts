import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../../kernel/declaration/data-state.ts'
import { NextCursor, pageLimit } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { KnowledgeViews } from '../../open.ts'
import { takePage } from '../../take-page.ts'
import { AsOf, EdgeView, edgeViewOf, graphFor, LayerId } from './graph-view.ts'

export default defineOperation({
  id: 'graph-edges',
  description: 'List the edges of the knowledge graph, ordered by source, relation and target.',
  method: 'GET',
  path: '/v1/graph/edges',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    relation: z.string().max(64).exactOptional().describe('Relation, such as `approved_by`.'),
    layer: LayerId.exactOptional().describe('Layer that declares the edge.'),
    learned_only: z.boolean().default(false).describe('Only edges with a learned strength.'),
    after: z.string().max(600).exactOptional().describe('Cursor: `next` of the previous page.'),
    limit: pageLimit(500, 100),
  }),
  output: z.object({
    data_state: DataState,
    as_of: AsOf,
    edges: z.array(EdgeView),
    next: NextCursor,
  }),
  examples: [{ relation: 'approved_by' }],
  run: async (
    { relation, layer, learned_only, after, limit },
    context: Context & KnowledgeViews,
  ) => {
    const { graph, as_of } = await graphFor(context)
    const { keys, edges } = graph.adjacency
    const wanted = keys.filter((key, number) => {
      const edge = edges[number]
      return (
        (relation === undefined || edge?.relation === relation) &&
        (layer === undefined || edge?.layer === layer) &&
        (!learned_only || graph.learned.has(key))
      )
    })
    const page = takePage(wanted, { after, limit }).filter(key => graph.graph.hasEdge(key))
    const now = context.now()
    return {
      data_state: dataState(page.length),
      as_of,
      edges: page.map(key => edgeViewOf(graph, graph.edge(key), key, now)),
      next: page.length === limit ? (page.at(-1) ?? null) : null,
    }
  },
})
