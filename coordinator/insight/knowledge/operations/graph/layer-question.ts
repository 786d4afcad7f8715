import * as z from 'zod'
import { DataState } from '../../../../kernel/declaration/data-state.ts'
import { AsOf, EdgeView, NodeId, NodeView } from './graph-view.ts'

const QUERY_TYPES = [
  'deps',
  'consumers',
  'path',
  'orphans',
  'cycles',
  'coverage',
  'owner',
  'stats',
] as const

export const LayerQuestion = z.strictObject({
  query_type: z
    .enum(QUERY_TYPES)
    .describe(
      'deps, consumers and owner need target_id; path needs layer_id and target_id; coverage needs layer_id; orphans, cycles and stats take an optional layer_id.',
    ),
  layer_id: NodeId.exactOptional().describe(
    'Layer to ask about, such as `governance`; for path the id of the first node.',
  ),
  target_id: NodeId.exactOptional().describe(
    'Node to ask about; for path the last node; for coverage the layer or kind that covers.',
  ),
})
export type LayerQuestion = z.output<typeof LayerQuestion>

const Stats = z.object({
  nodes: z.int(),
  edges: z.int(),
  orphans: z.int(),
  unresolved_edges: z.int().describe('Imported edges whose ends do not exist.'),
  kinds: z.record(z.string(), z.int()),
  layers: z.record(z.string(), z.int()),
  relations: z.record(z.string(), z.int()),
  /** Node with most edges. */
  busiest: z.object({ node_id: z.string(), edges: z.int() }).nullable(),
})

export const LayerAnswer = z.object({
  query_type: z.enum(QUERY_TYPES),
  data_state: DataState,
  as_of: AsOf,
  summary: z.string(),
  /** What to load when there is nothing to answer from; null otherwise. */
  to_load: z.string().nullable(),
  nodes: z
    .array(
      NodeView.extend({
        depth: z.int().nullable().describe('Edges from the requested node.'),
        via: EdgeView.nullable().describe('Edge through which the node was reached.'),
      }),
    )
    .describe('Dependencies, consumers, orphans, owners, or nodes without coverage.'),
  edges: z.array(EdgeView).describe('Edges of the path, or of the way to the first owner.'),
  cycles: z.array(z.array(z.string())).describe('Ids of nodes that need each other.'),
  coverage: z.object({ covered: z.int(), total: z.int(), covered_percent: z.number() }).nullable(),
  stats: Stats.nullable(),
  /** Results before the answer was shortened. */
  total: z.int(),
  is_cut: z.boolean().describe('True when the answer holds only a part of the results.'),
})
export type LayerAnswer = z.input<typeof LayerAnswer>
