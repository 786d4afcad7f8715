import type { Tenant } from '../../../access/people/tenants.ts'
import type { Device } from '../../../devices/inventory/device.table.ts'
import type { EntityView } from '../../../discovery/entities/entity-query.ts'
import { createLayer, type GraphFacts, nodeId } from '../graph-model.ts'

/** Devices with the cells that reach them and their kinds. */
export const deviceFacts = (devices: readonly Device[]): GraphFacts => {
  const layer = createLayer('devices')
  const kinds = new Set<string>()
  for (const { id, cellId, alsoOn, kind, facts, isAvailable, labels } of devices) {
    const device = layer.addNode({
      kind: 'device',
      key: id,
      name: facts.name,
      text: `${kind} ${Object.entries(labels).flat().join(' ')}`,
      attributes: { device_kind: kind, available: isAvailable, site: facts.site ?? null },
    })
    kinds.add(kind)
    layer.addEdge(device, 'has_type', nodeId('device-kind', kind))
    for (const cell of [cellId, ...alsoOn])
      layer.addEdge(device, 'reached_through', nodeId('cell', cell))
  }
  for (const kind of kinds) layer.addNode({ kind: 'device-kind', key: kind })
  return layer
}

/** Things that discovery found, with their types and the modules that saw them. */
export const discoveryFacts = (entities: readonly EntityView[]): GraphFacts => {
  const layer = createLayer('discovery')
  const types = new Set<string>()
  for (const { entity_id, name, device_type, risk_level, is_present, sources } of entities) {
    const entity = layer.addNode({
      kind: 'entity',
      key: entity_id,
      name: name ?? entity_id,
      text: device_type,
      attributes: { risk_level, is_present },
    })
    types.add(device_type)
    layer.addEdge(entity, 'has_type', nodeId('entity-type', device_type))
    for (const module of new Set(sources.map(source => source.module)))
      layer.addEdge(entity, 'seen_by', nodeId('module', module))
  }
  for (const type of types) layer.addNode({ kind: 'entity-type', key: type })
  return layer
}

/** The tenant whose graph it is; no other. */
export const tenantFacts = ({ id, name }: Pick<Tenant, 'id' | 'name'>): GraphFacts => {
  const layer = createLayer('tenants')
  layer.addNode({ kind: 'tenant', key: id, name })
  return layer
}
