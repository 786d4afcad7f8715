import type { Catalogue } from '../../../../shared/catalogue.ts'
import { iso } from '../../../../shared/time.ts'
import type { Alert } from '../../../fleet/alerts/alert.ts'
import { type Cell, engineReports } from '../../../fleet/cells/cell.ts'
import { createLayer, type GraphFacts, nodeId } from '../graph-model.ts'

interface FleetSources {
  cells: Iterable<Cell>
  /** Tenant that the cell is dedicated to; undefined for a shared cell. */
  tenantOf: (cellId: string) => string | undefined
  tenantId: string
}

/** Cells with their engines and GPUs. The tenant of a dedicated cell is shown to that tenant alone. */
export const fleetFacts = ({ cells, tenantOf, tenantId }: FleetSources): GraphFacts => {
  const layer = createLayer('fleet')
  for (const cell of cells) {
    const id = addCell(layer, cell)
    if (tenantOf(cell.id) === tenantId)
      layer.addEdge(id, 'dedicated_to', nodeId('tenant', tenantId))
  }
  return layer
}

const addCell = (layer: ReturnType<typeof createLayer>, cell: Cell): string => {
  const { announce } = cell
  const cellNode = layer.addNode({
    kind: 'cell',
    key: cell.id,
    name: announce?.name ?? cell.id,
    text: `${announce?.host.hostname ?? ''} ${announce?.host.cpu_model ?? ''} ${announce?.tags.join(' ') ?? ''}`,
    attributes: {
      presence: cell.presence,
      drained: cell.drained,
      version: announce?.version ?? null,
      cpu_count: announce?.host.cpu_count ?? null,
      memory_total_bytes: announce?.host.memory_total_bytes ?? null,
    },
  })
  for (const gpu of announce?.gpus ?? []) {
    const { id, name, vendor, vram_total_bytes } = gpu
    const attributes = { vendor, vram_total_bytes }
    const gpuNode = layer.addNode({ kind: 'gpu', key: `${cell.id}/${id}`, name, attributes })
    layer.addEdge(gpuNode, 'part_of', cellNode)
  }
  for (const { weights, state, models, slots } of engineReports(cell)) {
    const engine = layer.addNode({
      kind: 'engine',
      key: `${cell.id}/${weights}`,
      name: weights,
      attributes: { state, slots },
    })
    layer.addEdge(engine, 'runs_on', cellNode)
    for (const model of models) layer.addEdge(nodeId('model', model), 'served_by', engine)
  }
  return cellNode
}

/** Models of the catalogue with the tiers that include them. */
export const modelFacts = (catalogue: Catalogue, tiers: object): GraphFacts => {
  const layer = createLayer('models')
  for (const tier of Object.keys(tiers)) layer.addNode({ kind: 'tier', key: tier })
  for (const { id, kind, note, minimum_tier, context_length } of catalogue) {
    const attributes = { model_kind: kind, minimum_tier, context_length }
    const model = layer.addNode({
      kind: 'model',
      key: id,
      text: `${note} ${kind} model`,
      attributes,
    })
    layer.addEdge(model, 'requires', nodeId('tier', minimum_tier))
  }
  return layer
}

/** Raised alerts, with the cells they are about. */
export const alertFacts = (alerts: readonly Alert[]): GraphFacts => {
  const layer = createLayer('operations')
  for (const { id, rule, level, message, cellId, raisedAt, clearedAt } of alerts) {
    if (clearedAt !== undefined) continue
    const attributes = { rule, level, raised_at: iso(raisedAt) }
    const alert = layer.addNode({ kind: 'alert', key: id, name: message, text: rule, attributes })
    if (cellId !== undefined) layer.addEdge(alert, 'about', nodeId('cell', cellId))
  }
  return layer
}
