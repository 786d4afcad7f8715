import * as z from 'zod'
import { defineScan } from '../../module.ts'
import { listMacKeys } from '../../net/mac-keys.ts'
import type { Sighting, SightingKey } from '../../sighting.ts'

const Row = z.strictObject({
  kind: z
    .enum(['neighbour', 'gateway', 'own'])
    .describe('Another machine, a router of a route, or an address of this cell.'),
  address: z.string().max(64),
  prefix_length: z.int().min(0).max(128).nullable().describe('Only of own addresses.'),
  mac: z.string().max(17).nullable(),
  mac_kind: z
    .enum(['global', 'local', 'virtual_router', 'container'])
    .nullable()
    .describe('`local` addresses are assigned by software and change.'),
  state: z
    .enum(['reachable', 'stale', 'delay', 'probe', 'permanent', 'incomplete', 'failed'])
    .nullable()
    .describe('State of the neighbour entry (RFC 4861, 7.3.2); null without an entry.'),
  interface: z.string().max(32),
  interface_kind: z.enum(['ethernet', 'wifi', 'bridge', 'container', 'tunnel', 'other']),
  is_gateway: z.boolean().describe('A default route leads to it.'),
  is_router: z
    .boolean()
    .describe('True for a router: a route leads to it, or it announces itself as one (IPv6).'),
})

export default defineScan({
  id: 'network-map',
  name: 'Network map',
  description: "Read the cell's neighbour tables, routes and interfaces without sending a packet.",
  tags: ['network', 'lan', 'arp', 'passive'],
  access: 'operator',
  reach: 'host',
  input: z.strictObject({}),
  examples: [{}],
  deadlineSeconds: 10,
  autoRun: { everySeconds: 300, isPassive: true },
  row: Row,
  observe: (row, { cellId }) => {
    if (row.interface_kind === 'container') return []
    if (row.state === 'failed' || row.state === 'incomplete') return []
    return [sightingOf(row, row.kind === 'own' ? cellId : undefined)]
  },
})

const sightingOf = (row: z.infer<typeof Row>, cellId: string | undefined): Sighting => ({
  keys: [
    ...(cellId === undefined ? [] : [{ kind: 'shoal_cell' as const, value: cellId }]),
    ...macKeys(row),
    // link-local addresses repeat on every link (RFC 4291, 2.5.6)
    ...(row.address.startsWith('fe80:') ? [] : [{ kind: 'ip' as const, value: row.address }]),
  ],
  facts: {
    ip_addresses: [row.address],
    ...(row.mac === null ? {} : { mac_addresses: [row.mac] }),
    ...(row.is_gateway ? { gateway: true } : {}),
  },
})

/** A virtual router's address moves between machines; one of a container says nothing for long. */
const macKeys = ({ mac, mac_kind }: z.infer<typeof Row>): SightingKey[] => {
  if (mac === null || mac_kind === 'virtual_router' || mac_kind === 'container') return []
  return listMacKeys([mac])
}
