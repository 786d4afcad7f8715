import * as z from 'zod'
import { defineScan, type SightingContext } from '../../module.ts'
import { listAddressKeys, listFactAddresses } from '../../net/address-keys.ts'
import { isHostMac, listMacKeys } from '../../net/mac-keys.ts'
import type { Sighting, SightingFacts, SightingKey } from '../../sighting.ts'

const Text = z.string().max(256)
const Short = z.string().max(64)
const Mac = z.string().max(17)

const Interface = z.strictObject({
  index: z.int().nonnegative(),
  name: Short,
  alias: Short.nullable(),
  mac: Mac.nullable(),
  admin_up: z.boolean().nullable(),
  oper_up: z.boolean().nullable(),
  speed_mbps: z.number().nonnegative().nullable(),
  in_bytes: z.string().max(20).nullable().describe('64-bit counter, decimal.'),
  out_bytes: z.string().max(20).nullable().describe('64-bit counter, decimal.'),
})

const Component = z.strictObject({
  index: z.int().nonnegative(),
  description: Short.nullable(),
  name: Short.nullable(),
  class: Short.nullable().describe('`chassis`, `module`, `power_supply` (RFC 6933).'),
  manufacturer: Short.nullable(),
  model: Short.nullable(),
  serial: Short.nullable(),
  hardware: Short.nullable(),
  firmware: Short.nullable(),
  software: Short.nullable(),
})

const Neighbour = z.strictObject({
  local_port: Short.nullable(),
  chassis_id: Short.nullable(),
  chassis_mac: Mac.nullable(),
  port_id: Short.nullable(),
  port_description: Short.nullable(),
  system_name: Text.nullable(),
  system_description: Text.nullable(),
})

const Percent = z.number().min(0).max(100).nullable()

const Resources = z.strictObject({
  processors: z.int().positive().nullable(),
  cpu_percent: Percent.describe('Mean of all processors over the last minute.'),
  memory_bytes: z.number().nonnegative().nullable(),
  memory_used_bytes: z
    .number()
    .nonnegative()
    .nullable()
    .describe('As the agent counts it; many include buffers and caches.'),
})

const Printer = z.strictObject({
  model: Short.nullable(),
  serial: Short.nullable(),
  pages: z.number().nonnegative().nullable().describe('Pages printed in its life.'),
  supplies: z
    .array(
      z.strictObject({
        type: Short.describe('`toner`, `ink_cartridge`, `waste_toner` (RFC 3805).'),
        description: Short.nullable(),
        colour: Short.nullable(),
        is_receptacle: z.boolean().describe('It fills up instead of being consumed.'),
        level_percent: Percent.describe('Null when the printer does not measure it.'),
      }),
    )
    .max(32),
})

const Row = z.strictObject({
  ip: Short,
  version: z.enum(['2c', '3']).nullable().describe('Null when no credentials were accepted.'),
  engine_id: z.string().max(64).nullable().describe('SNMP engine (RFC 3411), hexadecimal.'),
  engine_vendor: Text.nullable(),
  engine_mac: Mac.nullable().describe('MAC address inside the engine id.'),
  name: Text.nullable(),
  description: Text.nullable(),
  object_id: z.string().max(128).nullable(),
  enterprise: z.int().nonnegative().nullable().describe('Private enterprise number of IANA.'),
  vendor: Text.nullable(),
  model: Text.nullable(),
  serial: Text.nullable(),
  firmware: Text.nullable(),
  uptime_s: z.number().nonnegative().nullable(),
  location: Text.nullable(),
  contact: Text.nullable(),
  is_router: z.boolean().nullable().describe('It offers layer 3 (sysServices, RFC 3418).'),
  is_bridge: z.boolean().nullable().describe('It offers layer 2 (sysServices, RFC 3418).'),
  resources: Resources.nullable().describe('Null without the HOST-RESOURCES-MIB (RFC 2790).'),
  printer: Printer.nullable().describe('Null without the Printer-MIB (RFC 3805).'),
  interfaces: z.array(Interface).max(96),
  components: z.array(Component).max(32),
  neighbours: z.array(Neighbour).max(48),
  stations: z
    .array(
      z.strictObject({
        mac: Mac,
        vlan: z.int().nonnegative().nullable(),
        port: Short.nullable().describe('Name of the interface behind which it was learned.'),
      }),
    )
    .max(256)
    .describe('Forwarding table of a bridge.'),
  default_credentials: z
    .boolean()
    .nullable()
    .describe('It answers the community `public` or `private`; null when neither was tried.'),
  is_truncated: z.boolean().describe('A table was longer than the limits of rows or time.'),
})
type Row = z.infer<typeof Row>

export default defineScan({
  id: 'snmp-discover',
  name: 'SNMP discovery',
  description:
    'Read system, load, printer supplies, interfaces, components, neighbours and forwarding tables of SNMP devices in scope.',
  tags: ['network', 'lan', 'snmp', 'topology'],
  access: 'operator',
  reach: 'lan',
  input: z.strictObject({
    subnet: z
      .string()
      .min(2)
      .max(64)
      .regex(/^[0-9a-fA-F.:]+(\/[0-9]{1,3})?$/)
      .describe('Network in CIDR notation or one address; every address must be in the scope.'),
  }),
  examples: [{ subnet: '192.168.1.0/24' }, { subnet: '127.0.0.1' }],
  deadlineSeconds: 300,
  row: Row,
  observe: (row, context) => [
    { keys: listKeys(row, context), facts: factsOf(row) } satisfies Sighting,
  ],
})

const listKeys = (row: Row, context: SightingContext): SightingKey[] => [
  ...(row.engine_id === null ? [] : [{ kind: 'snmp_engine_id' as const, value: row.engine_id }]),
  ...(row.serial === null ? [] : [{ kind: 'serial' as const, value: row.serial }]),
  ...listMacKeys(listMacs(row).slice(0, 24)),
  ...listAddressKeys(row.ip, context),
  ...(row.name === null ? [] : [{ kind: 'name' as const, value: row.name.toLowerCase() }]),
]

const listMacs = ({ interfaces, engine_mac }: Row): string[] => {
  const macs = [engine_mac, ...interfaces.map(({ mac }) => mac)]
  return [...new Set(macs)].filter(mac => mac !== null && isHostMac(mac)) as string[]
}

const factsOf = (row: Row): SightingFacts => {
  const macs = listMacs(row).slice(0, 64)
  const neighbours = listNeighbours(row)
  const { name, vendor, model, serial, firmware, location, description } = row
  return {
    ...keepKnown({ name, vendor: vendor ?? row.engine_vendor, model, serial, firmware }),
    ...keepKnown({ location, description }),
    ...listFactAddresses(row.ip),
    ...(macs.length > 0 && { mac_addresses: macs }),
    ...(neighbours.length > 0 && { neighbours }),
    ...(row.default_credentials !== null && { default_credentials: row.default_credentials }),
    ...(row.printer !== null && { claimed_types: ['printer'] }),
    services: [
      {
        port: 161,
        transport: 'udp',
        name: 'snmp',
        product: null,
        version: row.version,
        is_encrypted: null,
        is_open: row.default_credentials,
      },
    ],
  }
}

const listNeighbours = ({ neighbours, stations }: Row): string[] => {
  const named = neighbours.map(
    ({ system_name, chassis_mac, chassis_id }) => system_name ?? chassis_mac ?? chassis_id,
  )
  const found = [...named, ...stations.map(({ mac }) => mac)].filter(each => each !== null)
  return [...new Set(found)].slice(0, 64)
}

type Texts = Record<string, string | null>

/** Leaves out what is unknown: an absent fact says nothing. */
const keepKnown = <T extends Texts>(texts: T): { [K in keyof T]?: string } =>
  Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== null)) as {
    [K in keyof T]?: string
  }
