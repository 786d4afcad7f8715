import type { Runtime } from '../../../shared/runtime.ts'
import { iso } from '../../../shared/time.ts'
import { VERSION } from '../../../shared/version.ts'
import { readFacts } from './entity-facts.ts'
import type { EntityView } from './entity-query.ts'

/**
 * Beginning of an inventory as CycloneDX 1.6 JSON (ECMA-424), whose components follow: things are
 * devices, and models are components of them.
 */
export const formatInventoryHead = (at: number, ids: Runtime['ids']): string => {
  const head = JSON.stringify({
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${ids.uuid()}`,
    version: 1,
    metadata: {
      timestamp: iso(at),
      tools: { components: [{ type: 'application', name: 'shoal', version: VERSION }] },
    },
  })
  return `${head.slice(0, -1)},"components":[`
}

export const INVENTORY_END = ']}\n'

export const formatComponent = (entity: EntityView): string => JSON.stringify(componentOf(entity))

/** Types of entities that are programs and not machines. */
const SOFTWARE: ReadonlySet<string> = new Set(['container', 'pod'])

const componentOf = (entity: EntityView) => {
  const { vendor, firmware, description, models = [], os } = readFacts(entity)
  const software = [
    ...(os === undefined ? [] : [{ type: 'operating-system', name: os }]),
    ...models.map(name => ({ type: 'machine-learning-model', name })),
  ]
  const parts = software.map((part, n) => ({ ...part, 'bom-ref': `${entity.entity_id}#${n}` }))
  return {
    type: SOFTWARE.has(entity.device_type) ? 'container' : 'device',
    'bom-ref': entity.entity_id,
    name: entity.name ?? entity.entity_id,
    ...(vendor && { manufacturer: { name: vendor } }),
    ...(firmware && { version: firmware }),
    ...(description && { description }),
    properties: listProperties(entity),
    ...(parts.length > 0 && { components: parts }),
  }
}

const listProperties = (entity: EntityView) => {
  const { model, serial, location, ip_addresses = [], mac_addresses = [] } = readFacts(entity)
  const values: [string, string | undefined][] = [
    ['device_type', entity.device_type],
    ['risk_level', entity.risk_level],
    ['confidence', String(entity.confidence)],
    ['first_seen', entity.first_seen],
    ['last_seen', entity.last_seen],
    ['model', model],
    ['serial', serial],
    ['location', location],
    ...ip_addresses.map((value): [string, string] => ['ip_address', value]),
    ...mac_addresses.map((value): [string, string] => ['mac_address', value]),
  ]
  return values.flatMap(([name, value]) =>
    value === undefined ? [] : [{ name: `shoal:${name}`, value }],
  )
}
