import * as z from 'zod'
import { iso } from '../../../../../shared/time.ts'
import type { ImportedLayer } from '../../layer-store.ts'

export const LayerView = z.object({
  layer_id: z.string(),
  nodes: z.int(),
  edges: z.int(),
  changed_at: z.iso.datetime(),
  changed_by: z.string(),
})

export const layerViewOf = ({ layer, nodes, edges, changedAt, changedBy }: ImportedLayer) => ({
  layer_id: layer,
  nodes,
  edges,
  changed_at: iso(changedAt),
  changed_by: changedBy,
})
