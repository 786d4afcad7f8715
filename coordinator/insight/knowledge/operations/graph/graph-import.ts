import * as z from 'zod'
import { ShoalError } from '../../../../../shared/errors.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { isLiveLayer } from '../../graph-model.ts'
import { readLayer } from '../../layer-document.ts'
import type { KnowledgeViews } from '../../open.ts'
import { graphFor, LayerId } from './graph-view.ts'
import { LayerView, layerViewOf } from './layer-view.ts'

/** Characters of one import: what fits into a request. Larger layers come in several. */
const MOST_TEXT = 200_000

export default defineOperation({
  id: 'graph-import',
  description:
    'Import nodes and edges into a layer of your tenant, as JSON or CSV. Existing ones are overwritten.',
  method: 'POST',
  path: '/v1/graph/layers/{layer_id}',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  cli: { group: 'graph', verb: 'import', file: 'text' },
  input: z.strictObject({
    layer_id: LayerId,
    text: z.string().min(1).max(MOST_TEXT).describe('Nodes and edges; see docs/knowledge.md.'),
    format: z.enum(['json', 'csv']).default('json'),
    replace: z
      .boolean()
      .default(false)
      .describe('Delete what the layer had before; for the first part of a layer.'),
  }),
  output: LayerView.extend({
    unresolved_edges: z
      .int()
      .describe('Stored edges of all layers whose ends do not exist now; they are left out.'),
  }),
  examples: [{ text: '{"nodes":[{"id":"service:crm"}]}' }],
  run: async ({ layer_id, text, format, replace }, context: Context & KnowledgeViews) => {
    if (isLiveLayer(layer_id))
      throw new ShoalError(
        'invalid_request',
        `${layer_id} is derived from the running system; choose another name for an imported layer`,
        { param: 'layer_id' },
      )
    const facts = await readLayer(text, { format, layer: layer_id })
    const { tenantId, graph } = await graphFor(context)
    const live = facts.nodes.find(({ id }) => isLiveLayer(graph.node(id)?.layer ?? ''))
    if (live !== undefined)
      throw new ShoalError(
        'invalid_request',
        `${live.id} is a node of the running system; an import can add edges to it, not replace it`,
        { param: 'text' },
      )
    const wanted = { layer: layer_id, facts, replaces: replace }
    const imported = await context.knowledge.importLayer(tenantId, wanted, context.actor)
    const after = await graphFor(context)
    return { ...layerViewOf(imported), unresolved_edges: after.graph.unresolvedEdges }
  },
})
