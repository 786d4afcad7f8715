import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { CONNECT_CELL } from '../../../kernel/declaration/to-load.ts'
import type { EmbeddingViews } from '../embeddings.ts'
import { LAYER_LIMITS } from '../layer-store.ts'
import { MAX_LEARNED } from '../learning-store.ts'
import type { KnowledgeViews } from '../open.ts'
import { computeGraphStats } from '../queries/graph-stats.ts'
import { AsOf, graphFor } from './graph/graph-view.ts'

export default defineSkill({
  id: 'world-model-status',
  group: 'governance',
  name: 'World model status',
  description:
    'Show the size and age of the knowledge graph, its imported layers, its learning, and how meanings are compared.',
  tags: ['knowledge', 'graph'],
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    as_of: AsOf,
    age_seconds: z.number(),
    nodes: z.int(),
    edges: z.int(),
    orphans: z.int(),
    unresolved_edges: z.int(),
    layers: z.record(z.string(), z.int()).describe('Nodes by layer.'),
    imported: z.object({
      layers: z.int(),
      nodes: z.int(),
      edges: z.int(),
      most_nodes: z.int(),
      most_edges: z.int(),
    }),
    learning: z.object({
      enabled: z.boolean(),
      learned_edges: z.int(),
      most_learned_edges: z.int(),
    }),
    embedding_model: z
      .string()
      .nullable()
      .describe('Model that synesthetic-translate compares meanings with; null: by letters.'),
  }),
  examples: [{}],
  toLoad: CONNECT_CELL,
  run: async (_input, context: Context & EmbeddingViews & KnowledgeViews) => {
    const { tenantId, graph, as_of } = await graphFor(context)
    const { nodes, edges, orphans, unresolvedEdges, layers } = computeGraphStats(graph)
    const imported = await context.knowledge.listLayers(tenantId)
    const { key, embeddings } = context
    return {
      data_state: dataState(nodes),
      as_of,
      age_seconds: Math.max(0, context.now() - graph.asOf) / 1000,
      nodes,
      edges,
      orphans,
      unresolved_edges: unresolvedEdges,
      layers,
      imported: {
        layers: imported.length,
        nodes: imported.reduce((sum, layer) => sum + layer.nodes, 0),
        edges: imported.reduce((sum, layer) => sum + layer.edges, 0),
        most_nodes: LAYER_LIMITS.nodes,
        most_edges: LAYER_LIMITS.edges,
      },
      learning: {
        enabled: graph.settings.enabled,
        learned_edges: graph.learned.size,
        most_learned_edges: MAX_LEARNED,
      },
      embedding_model: (key && embeddings.find(key)) ?? null,
    }
  },
})
