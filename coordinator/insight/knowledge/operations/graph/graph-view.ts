import * as z from 'zod'
import { createUnknownError } from '../../../../../shared/reference-errors.ts'
import { iso } from '../../../../../shared/time.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { scopeOf } from '../../../../kernel/declaration/tenant-scope.ts'
import type { GraphEdge, GraphNode } from '../../graph-model.ts'
import type { KnowledgeViews } from '../../open.ts'
import type { TenantGraph } from '../../tenant-graph.ts'

/** Id of a node as a caller sends it. */
export const NodeId = z.string().min(1).max(256)
export const LayerId = z
  .string()
  .max(64)
  .regex(/^[a-z][a-z0-9-]*$/, 'must be a layer in lower case, such as landscape')

export const NodeView = z.object({
  node_id: z.string(),
  kind: z.string(),
  name: z.string(),
  layer: z.string(),
  attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
})

export const EdgeView = z.object({
  source: z.string(),
  relation: z.string(),
  target: z.string(),
  layer: z.string(),
  weight: z.number().describe('Declared strength, above 0 and at most 1.'),
  learned: z.number().describe('Learned strength that is left, from 0 to 1.'),
})

export const AsOf = z.iso.datetime().describe('Time at which the system was read for this graph.')

export const nodeViewOf = ({ id, kind, name, layer, attributes }: GraphNode) => ({
  node_id: id,
  kind,
  name,
  layer,
  attributes,
})

export const edgeViewOf = (graph: TenantGraph, edge: GraphEdge, key: string, now: number) => {
  const { source, relation, target, layer, weight } = edge
  return {
    source,
    relation,
    target,
    layer,
    weight,
    learned: round(graph.readLearnedStrength(key, now)),
  }
}

/** Four decimals. */
export const round = (value: number): number => Math.round(value * 10_000) / 10_000

/** The graph of the caller's tenant, and the time at which it was read. */
export const graphFor = async (context: Context & KnowledgeViews) => {
  const { tenantId } = scopeOf(context)
  const graph = await context.knowledge.graphOf(tenantId)
  return { tenantId, graph, as_of: iso(graph.asOf) }
}

/** Throws `not_found`, also for a node that only another tenant has. */
export const requireNode = (graph: TenantGraph, id: string, param = 'node_id'): GraphNode => {
  const node = graph.node(id)
  if (node !== undefined) return node
  throw createUnknownError('node', id, { param })
}
