import * as z from 'zod'
import { defineScan, type SightingContext } from '../../module.ts'
import { listAddressKeys, listFactAddresses } from '../../net/address-keys.ts'
import { listMacKeys } from '../../net/mac-keys.ts'
import type { Sighting, SightingFacts, SightingKey } from '../../sighting.ts'

const Text = z.string().max(256)

const Row = z.strictObject({
  instance: Text.describe('Name of the service instance, as a user sees it.'),
  type: z.string().max(64).describe('Service type: `_ipp._tcp`.'),
  interface: z.string().max(32).describe('Interface of the cell that received it.'),
  host: Text.nullable().describe('Host of the service, such as `printer.local`.'),
  port: z.int().min(0).max(65_535).nullable(),
  addresses: z.array(z.string().max(64)).max(16),
  ttl_s: z.int().nonnegative().describe('Lifetime that the responder gave the instance, seconds.'),
  txt: z
    .record(z.string().max(64), z.string().max(512).nullable())
    .describe('Attributes of the TXT record (RFC 6763, 6); null for one without a value.'),
  vendor: Text.nullable(),
  model: Text.nullable(),
  serial: Text.nullable(),
  firmware: Text.nullable(),
  device_id: z
    .string()
    .max(128)
    .nullable()
    .describe('Identity that the type of service defines: `hap:…`, `cast:…`.'),
  macs: z.array(z.string().max(17)).max(4),
  is_gone: z.boolean().describe('The service said goodbye, or its records expired.'),
  is_host_gone: z.boolean().describe('No other service of its host is left.'),
})
type Row = z.infer<typeof Row>

/**
 * Reach `lan`: multicast DNS is IP traffic of the network, so the helper process of the network runs
 * it, although the agent card counts it among the scans of what is in the air. Without a scope it
 * only listens.
 */
export default defineScan({
  id: 'mdns-scan',
  name: 'mDNS scan',
  description: 'List the services that machines on the local links announce by multicast DNS.',
  tags: ['network', 'lan', 'mdns', 'dns-sd'],
  access: 'operator',
  reach: 'lan',
  input: z.strictObject({
    timeout: z
      .number()
      .min(0.2)
      .max(60)
      .default(3)
      .describe('Time for which it listens, in seconds.'),
  }),
  examples: [{}, { timeout: 10 }],
  deadlineSeconds: 65,
  autoRun: { everySeconds: 300, isPassive: true },
  row: Row,
  observe: (row, context) => [
    {
      keys: listKeys(row, context),
      facts: factsOf(row),
      ...(row.ttl_s > 0 && { ttl_seconds: row.ttl_s }),
      ...(row.is_host_gone && { is_gone: true }),
    } satisfies Sighting,
  ],
})

const listKeys = (row: Row, context: SightingContext): SightingKey[] => [
  ...(row.device_id === null ? [] : [{ kind: 'mdns_id' as const, value: row.device_id }]),
  ...(row.serial === null ? [] : [{ kind: 'serial' as const, value: row.serial }]),
  ...listMacKeys(row.macs),
  ...row.addresses.filter(isUnique).flatMap(address => listAddressKeys(address, context)),
  ...(row.host === null ? [] : [{ kind: 'name' as const, value: hostLabel(row.host) }]),
]

/** Link-local addresses (RFC 3927, RFC 4291) exist once on every link. */
const isUnique = (address: string): boolean =>
  !address.startsWith('169.254.') && !/^fe[89ab]/i.test(address)

/** A name under `.local` is unique on its link only, so it is no domain name. */
const hostLabel = (host: string): string => host.replace(/\.local$/i, '').toLowerCase()

const factsOf = (row: Row): SightingFacts => ({
  name: row.instance,
  ...(row.host !== null && { hostname: row.host.toLowerCase() }),
  ...(row.vendor !== null && { vendor: row.vendor }),
  ...(row.model !== null && { model: row.model }),
  ...(row.serial !== null && { serial: row.serial }),
  ...(row.firmware !== null && { firmware: row.firmware }),
  ...(row.macs.length > 0 && { mac_addresses: row.macs }),
  ...listAddresses(row),
  claimed_types: [row.type],
  ...listServices(row),
})

const listAddresses = ({ addresses }: Row): Pick<SightingFacts, 'ip_addresses'> => {
  const found = addresses.flatMap(address => listFactAddresses(address).ip_addresses ?? [])
  return found.length === 0 ? {} : { ip_addresses: found }
}

/** Port 0 announces a name without a service, as `_workstation` and placeholders of printers do. */
const listServices = ({ type, port, is_gone }: Row): Pick<SightingFacts, 'services'> => {
  if (port === null || port === 0 || is_gone) return {}
  const [name = '', transport] = type.split('.')
  return {
    services: [
      {
        port,
        transport: transport === '_udp' ? 'udp' : 'tcp',
        name: name.replace(/^_/, ''),
        product: null,
        version: null,
        is_encrypted: null,
        is_open: null,
      },
    ],
  }
}
