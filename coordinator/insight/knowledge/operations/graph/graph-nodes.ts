import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../../kernel/declaration/data-state.ts'
import { NextCursor, pageLimit } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { KnowledgeViews } from '../../open.ts'
import { takePage } from '../../take-page.ts'
import type { TenantGraph } from '../../tenant-graph.ts'
import { AsOf, graphFor, LayerId, NodeId, NodeView, nodeViewOf } from './graph-view.ts'

const Kind = z.string().max(64)

export default defineOperation({
  id: 'graph-nodes',
  description:
    'List the nodes of the knowledge graph in the order of their ids, or find nodes by text, best hits first.',
  method: 'GET',
  path: '/v1/graph/nodes',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    query: z
      .string()
      .min(1)
      .max(200)
      .exactOptional()
      .describe('Text in names, ids and descriptions; hits have no next page.'),
    kind: Kind.exactOptional().describe('Kind of node, such as `cell`, `skill` or `gate`.'),
    layer: LayerId.exactOptional().describe('Live or imported layer, such as `fleet`.'),
    after: NodeId.exactOptional().describe('Cursor: `next` of the previous page.'),
    limit: pageLimit(500, 100),
  }),
  output: z.object({
    data_state: DataState,
    as_of: AsOf,
    nodes: z.array(NodeView),
    next: NextCursor,
  }),
  examples: [{ kind: 'gate' }, { query: 'air quality' }],
  run: async ({ query, kind, layer, after, limit }, context: Context & KnowledgeViews) => {
    const { graph, as_of } = await graphFor(context)
    const accepts = (id: string): boolean => {
      const node = graph.node(id)
      return (
        node !== undefined &&
        (kind === undefined || node.kind === kind) &&
        (layer === undefined || node.layer === layer)
      )
    }
    const ids =
      query === undefined
        ? takePage(graph.graph.filterNodes(accepts), { after, limit })
        : graph.index.find(query, limit, accepts).map(({ id }) => id)
    const isFull = query === undefined && ids.length === limit
    return {
      data_state: dataState(ids.length),
      as_of,
      nodes: nodesOf(graph, ids).map(nodeViewOf),
      next: isFull ? (ids.at(-1) ?? null) : null,
    }
  },
})

const nodesOf = (graph: TenantGraph, ids: readonly string[]) =>
  ids.flatMap(id => graph.node(id) ?? [])
