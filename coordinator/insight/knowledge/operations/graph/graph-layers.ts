import * as z from 'zod'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { scopeOf } from '../../../../kernel/declaration/tenant-scope.ts'
import { LIVE_LAYERS } from '../../graph-model.ts'
import { LAYER_LIMITS } from '../../layer-store.ts'
import type { KnowledgeViews } from '../../open.ts'
import { LayerView, layerViewOf } from './layer-view.ts'

export default defineOperation({
  id: 'graph-layers',
  description: 'List the layers of the knowledge graph: live ones, and those your tenant imported.',
  method: 'GET',
  path: '/v1/graph/layers',
  access: 'operator',
  effect: 'read',
  tool: false,
  input: z.strictObject({}),
  output: z.object({
    live: z.array(z.enum(LIVE_LAYERS)),
    imported: z.array(LayerView),
    most_nodes: z.int(),
    most_edges: z.int(),
    most_layers: z.int(),
  }),
  run: async (_input, context: Context & KnowledgeViews) => ({
    live: [...LIVE_LAYERS],
    imported: (await context.knowledge.listLayers(scopeOf(context).tenantId)).map(layerViewOf),
    most_nodes: LAYER_LIMITS.nodes,
    most_edges: LAYER_LIMITS.edges,
    most_layers: LAYER_LIMITS.layers,
  }),
})
