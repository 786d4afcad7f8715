import type { Observation } from '../../discovery/entities/observation.ts'
import type { SightingFacts, SightingKey } from '../../discovery/sighting.ts'

/* Things of a large site as modules report them: names, makers, services and models that repeat. */

const VENDORS = ['Brother', 'Hewlett Packard', 'Ubiquiti', 'Espressif', 'Dell', 'Raspberry Pi']
const KINDS = ['printer', 'switch', 'camera', 'laptop', 'sensor', 'server', 'phone', 'lamp']
const ROOMS = ['hall', 'kitchen', 'office', 'lab', 'store', 'roof']

const pick = <T>(list: readonly T[], n: number): T => list[n % list.length] as T

const hex = (n: number, digits: number): string => n.toString(16).padStart(digits, '0')

const macOf = (n: number): string => `b8:27:eb:${hex(n, 6).match(/../g)?.join(':')}`

const ipOf = (n: number): string => `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`

interface Report {
  module: string
  /** The module reports one of this many things. */
  oneOf: number
  keys: (n: number) => SightingKey[]
  facts: (n: number) => SightingFacts
}

const address = (n: number): SightingKey[] => [
  { kind: 'mac', value: macOf(n) },
  { kind: 'ip', value: ipOf(n) },
]

const service = (port: number, name: string, product: string | null = null) => ({
  port,
  transport: 'tcp' as const,
  name,
  product,
  version: product && '1.2',
  is_encrypted: port === 443,
  is_open: name === 'ollama' ? true : null,
})

export const REPORTS: readonly Report[] = [
  {
    module: 'network-map',
    oneOf: 1,
    keys: address,
    facts: n => ({
      hostname: `${pick(KINDS, n)}-${n}.${pick(ROOMS, n >> 3)}.lan`,
      ip_addresses: [ipOf(n)],
      mac_addresses: [macOf(n)],
    }),
  },
  {
    module: 'mdns-scan',
    oneOf: 2,
    keys: n => [...address(n), { kind: 'fqdn', value: `${pick(KINDS, n)}-${n}.local` }],
    facts: n => ({
      name: `${pick(VENDORS, n)} ${pick(KINDS, n)} ${pick(ROOMS, n >> 3)} ${n}`,
      vendor: pick(VENDORS, n),
      model: `${pick(KINDS, n)}-${n % 97}`,
      claimed_types: [pick(['_ipp._tcp', '_http._tcp', '_ssh._tcp'], n)],
      services: [service(80, 'http'), service(443, 'https', 'nginx')],
    }),
  },
  {
    module: 'snmp-discover',
    oneOf: 10,
    keys: n => [
      ...address(n),
      { kind: 'snmp_engine_id', value: `80001f88${hex(n, 16)}` },
      { kind: 'serial', value: `SN${hex(n, 10)}` },
    ],
    facts: n => ({
      serial: `SN${hex(n, 10)}`,
      description: `${pick(VENDORS, n)} ${pick(KINDS, n)}, firmware 4.${n % 50}`,
      location: pick(ROOMS, n >> 3),
      neighbours: [ipOf(n + 1), ipOf(n + 2)],
    }),
  },
  {
    module: 'runtime-discover',
    oneOf: 50,
    keys: address,
    facts: n => ({
      services: [service(11_434, 'ollama', 'ollama')],
      models: Array.from({ length: 12 }, (_, model) => `model-${model}:${n % 70}b`),
    }),
  },
]

/** Observations of one module, in the order of the things. */
export const observe = (
  { module, oneOf, keys, facts }: Report,
  things: number,
  at: number,
): Observation[] =>
  Array.from({ length: Math.floor(things / oneOf) }, (_, index) => index * oneOf).map(n => ({
    sighting: { keys: keys(n), facts: facts(n) },
    module,
    cellId: `cell_${n % 20}`,
    site: 'site-a',
    at: at + n,
  }))

/** Second reports of things with another value: each is one delta. */
export const observeChanges = (changes: number, at: number): Observation[] =>
  Array.from({ length: changes }, (_, n) => ({
    sighting: { keys: address(n), facts: { os: `linux 6.${n % 10}` } },
    module: 'network-map',
    cellId: `cell_${n % 20}`,
    site: 'site-a',
    at: at + n,
  }))
