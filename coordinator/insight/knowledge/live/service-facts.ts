import type { Cell } from '../../../fleet/cells/cell.ts'
import type { services } from '../../registers/definitions/services.ts'
import type { RecordOf } from '../../registers/register.ts'
import type { ConfiguredService } from '../../services/services.ts'
import { createLayer, type GraphFacts, nodeId } from '../graph-model.ts'

interface ServiceSources {
  configured: readonly ConfiguredService[]
  /** Address of the tenant's chat server. */
  chatUrl: string | undefined
  /** Services that the tenant keeps in its register. */
  records: readonly RecordOf<typeof services>[]
  cells: Iterable<Cell>
  tenantId: string
}

/**
 * Services of the configuration, and those of the tenant. A service runs on a cell when its address
 * names the host of exactly one cell.
 */
export const serviceFacts = (sources: ServiceSources): GraphFacts => {
  const { configured, chatUrl, records, cells, tenantId } = sources
  const layer = createLayer('services')
  const cellsByHost = findCellsByHost(cells)
  const tenant = nodeId('tenant', tenantId)
  const place = (service: string, host: string | null): void => {
    const [cellId, ...others] = cellsByHost.get(host?.toLowerCase() ?? '') ?? []
    if (cellId !== undefined && others.length === 0)
      layer.addEdge(service, 'runs_on', nodeId('cell', cellId))
  }
  for (const { id, url, isOwn, hasRepair } of configured) {
    // the own address is that of the coordinator's listener, which is no cell
    const host = isOwn ? null : hostOf(url)
    const attributes = { host, own: isOwn, has_repair: hasRepair }
    const service = layer.addNode({ kind: 'service', key: id, text: 'service', attributes })
    place(service, host)
    if (hasRepair) layer.addEdge(service, 'repaired_by', nodeId('skill', 'repair-trigger'))
  }
  for (const { id, name, kind, url, criticality, depends_on = [] } of records) {
    const host = hostOf(url)
    const attributes = { service_kind: kind, criticality, host }
    const service = layer.addNode({ kind: 'service', key: id, name, text: kind, attributes })
    place(service, host)
    layer.addEdge(service, 'dedicated_to', tenant)
    for (const other of depends_on) layer.addEdge(service, 'depends_on', nodeId('service', other))
  }
  if (chatUrl !== undefined) {
    const host = hostOf(chatUrl)
    const name = `Chat server of ${tenantId}`
    const key = `chat-server/${tenantId}`
    const service = layer.addNode({
      kind: 'service',
      key,
      name,
      text: 'matrix',
      attributes: { host },
    })
    place(service, host)
    layer.addEdge(service, 'dedicated_to', tenant)
  }
  return layer
}

const hostOf = (url: string | undefined): string | null =>
  url === undefined ? null : new URL(url).hostname

/** Cells by the name of their host and by their own name, in lower case. */
const findCellsByHost = (cells: Iterable<Cell>): Map<string, string[]> => {
  const found = new Map<string, string[]>()
  for (const { id, announce } of cells) {
    const names = [announce?.host.hostname, announce?.name].flatMap(
      name => name?.toLowerCase() ?? [],
    )
    for (const name of new Set(names)) found.set(name, [...(found.get(name) ?? []), id])
  }
  return found
}
