import type { Observation } from '../../discovery/entities/observation.ts'
import type { KeyKind, SightingFacts, SightingKey } from '../../discovery/sighting.ts'
import { type Random, randomOf } from './random.ts'

/** An observation and the thing that it is of. */
interface TrueSighting {
  observation: Observation
  truth: string
}

const START = Date.UTC(2026, 0, 5)
const MINUTE = 60_000
const STEP_MINUTES = 10

/** A network interface. `mac` changes for phones that rotate theirs. */
interface TrueInterface {
  mac: string
  ip: string | undefined
}

/** A thing in a generated world. */
interface TrueThing {
  truth: string
  site: string
  interfaces: TrueInterface[]
  /** Keys that a module reports together with an address. */
  reports: {
    module: string
    everyMinutes: number
    keys: SightingKey[]
    withMac: boolean
    /** True for a host that answers at each of its interfaces in one scan. */
    atEach?: boolean
  }[]
  isRotating: boolean
  isSteady: boolean
  isOnline: boolean
}

const SITES = ['site-a', 'site-b', 'site-c']

/** Sightings of a world in the order of their times, by a seed. */
export const createWorld = (seed: number, count: number, hours: number): TrueSighting[] => {
  const random = randomOf(seed)
  const things = createThings(random, count)
  const sightings: TrueSighting[] = []
  for (let minute = 0; minute < hours * 60; minute += STEP_MINUTES) {
    moveThings(random, things, minute)
    sightings.push(...lookAround(random, things, minute), ...lookAtRouters(minute))
  }
  return sightings
}

type Maker = (random: Random, n: number, site: string) => TrueThing[]

const createThings = (random: Random, count: number): TrueThing[] => {
  const things: TrueThing[] = []
  for (let n = 0; things.length < count; n += 1)
    things.push(...random.pick(MAKERS)(random, n, random.pick(SITES)))
  return [...things, ...createRouters()]
}

const key = (kind: KeyKind, value: string): SightingKey => ({ kind, value })

const randomHex = (random: Random, digits: number): string =>
  Array.from({ length: digits }, () => random.randomBelow(16).toString(16)).join('')

const createMac = (random: Random, prefix: string): string =>
  `${prefix}${randomHex(random, 12 - prefix.replaceAll(':', '').length)}`
    .replaceAll(':', '')
    .match(/../g)
    ?.join(':') ?? ''

const publicMac = (random: Random): string =>
  createMac(random, random.pick(['b827eb', 'f4f5d8', '3c5282', '0017fc']))
const privateMac = (random: Random): string =>
  createMac(random, `${randomHex(random, 1)}${random.pick(['2', '6', 'a', 'e'])}`)

const createThing = (
  truth: string,
  site: string,
  macs: string[],
  over: Partial<TrueThing> = {},
): TrueThing => ({
  truth,
  site,
  interfaces: macs.map(mac => ({ mac, ip: undefined })),
  reports: [],
  isRotating: false,
  isSteady: false,
  isOnline: false,
  ...over,
})

/** A server with several interfaces, one of them a cell of the fleet now and then. */
const createServer: Maker = (random, n, site) => {
  const macs = Array.from({ length: 1 + random.randomBelow(3) }, () => publicMac(random))
  const identity = [key('ssh_host_key', randomHex(random, 64))]
  const serial = random.pick([randomHex(random, 10), 'To be filled by O.E.M.'])
  const cell = random.pick([[], [key('shoal_cell', `cell_${n}`)]])
  const own = [...macs.map(mac => key('mac', mac)), key('serial', serial)]
  return [
    createThing(`server${n}`, site, macs, {
      isSteady: true,
      reports: [
        { module: 'tls-cert-check', everyMinutes: 60, keys: identity, withMac: false },
        { module: 'http-fingerprint', everyMinutes: 30, keys: [], withMac: false },
        { module: 'network-map', everyMinutes: 60, keys: [...cell, ...own], withMac: true },
      ],
    }),
  ]
}

/** A phone: its private address stays within a site, or changes every day. */
const createPhone: Maker = (random, n, site) => {
  const hasId = random.randomBelow(4) > 0
  const keys = [key('name', random.pick(['iphone', 'android', 'annas-phone']))]
  if (hasId) keys.push(key('mdns_id', randomHex(random, 16)))
  return [
    createThing(`phone${n}`, site, [privateMac(random)], {
      isRotating: hasId && random.randomBelow(3) === 0,
      reports: [{ module: 'mdns-scan', everyMinutes: 30, keys, withMac: hasId }],
    }),
  ]
}

/** A small device without any identity but its interface. */
const createGadget: Maker = (random, n, site) => [
  createThing(`gadget${n}`, site, [publicMac(random)], {
    reports: [
      { module: 'http-fingerprint', everyMinutes: 30, keys: [], withMac: false },
      {
        module: 'tls-cert-check',
        everyMinutes: 60,
        keys: [key('tls_spki', randomHex(random, 64))],
        withMac: false,
      },
    ],
  }),
]

const createPrinter: Maker = (random, n, site) => {
  const engine = key('snmp_engine_id', `80001f8880${randomHex(random, 16)}`)
  const serial = key('serial', `PRN${randomHex(random, 8)}`)
  return [
    createThing(`printer${n}`, site, [publicMac(random)], {
      isSteady: true,
      reports: [
        { module: 'snmp-discover', everyMinutes: 60, keys: [engine, serial], withMac: false },
        {
          module: 'mdns-scan',
          everyMinutes: 30,
          keys: [key('upnp_udn', `uuid:${randomHex(random, 32)}`), key('fqdn', `printer${n}.lan`)],
          withMac: false,
        },
      ],
    }),
  ]
}

/** Machines of one image: they share host keys and have serial numbers of their own. */
const createClones: Maker = (random, n, site) => {
  const image = key('ssh_host_key', randomHex(random, 64))
  return Array.from({ length: 2 + random.randomBelow(3) }, (_, copy) =>
    createThing(`clone${n}000${copy}`, site, [createMac(random, '525400')], {
      isSteady: true,
      reports: [
        { module: 'tls-cert-check', everyMinutes: 60, keys: [image], withMac: false },
        {
          module: 'cloud-discover',
          everyMinutes: 60,
          keys: [key('cloud_instance_id', randomHex(random, 16))],
          withMac: true,
        },
      ],
    }),
  )
}

/** Two copies of one disk at two sites, with nothing but their addresses to tell them apart. */
const createTwins: Maker = (random, n) => {
  const image = key('ssh_host_key', randomHex(random, 64))
  return SITES.slice(0, 2).map((site, copy) =>
    createThing(`twin${n}000${copy}`, site, [publicMac(random)], {
      isSteady: true,
      reports: [{ module: 'tls-cert-check', everyMinutes: 30, keys: [image], withMac: true }],
    }),
  )
}

/** Containers, which have the same addresses on every host. */
const createContainers: Maker = (random, n, site) =>
  Array.from({ length: 3 }, (_, index) =>
    createThing(`container${n}000${index}`, site, [], {
      isSteady: true,
      reports: [
        {
          module: 'docker-inventory',
          everyMinutes: 30,
          keys: [
            key('container_id', randomHex(random, 64)),
            key('ip', `172.17.0.${2 + index}`),
            key('mac', `02:42:ac:11:00:0${2 + index}`),
            key('name', random.pick(['web', 'db', 'cache'])),
          ],
          withMac: false,
        },
      ],
    }),
  )

/** A sensor with a Bluetooth address; its advertisements also carry random ones. */
const createSensor: Maker = (random, n, site) => [
  createThing(`sensor${n}`, site, [], {
    isSteady: true,
    reports: [
      {
        module: 'ble-scan',
        everyMinutes: 10,
        keys: [key('ble_public_address', publicMac(random)), key('name', 'sensor')],
        withMac: false,
      },
    ],
  }),
]

/**
 * A device with an identity, and a host of the same site that shows it as its own: a printer whose
 * SNMP engine another host answers with, or a speaker whose announcement another host repeats.
 */
const createSpoofed: Maker = (random, n, site) => {
  const mac = publicMac(random)
  const engine = key('snmp_engine_id', `80001f8880${randomHex(random, 16)}`)
  const serial = key('serial', `SPK${randomHex(random, 8)}`)
  const id = key('mdns_id', randomHex(random, 16))
  const [module, identity, stolen] = random.pick([
    ['snmp-discover', [engine, serial, key('name', `printer-${n}`)], [engine]],
    ['snmp-discover', [engine], [engine]],
    ['mdns-scan', [id, serial, key('name', `speaker-${n}`)], [id, serial]],
    ['mdns-scan', [id, serial, key('name', `speaker-${n}`)], [serial, key('name', `other-${n}`)]],
  ] as const)
  const report = (keys: readonly SightingKey[]): TrueThing['reports'] => [
    { module, everyMinutes: 30, keys: [...keys], withMac: random.randomBelow(2) === 0 },
  ]
  return [
    createThing(`spoofed${n}`, site, [mac], { isSteady: true, reports: report(identity) }),
    createThing(`spoofer${n}`, site, [publicMac(random)], {
      isSteady: true,
      reports: report(stolen),
    }),
  ]
}

/** A host with two interfaces that answers at both, and nothing that lists them together. */
const createMultiHomed: Maker = (random, n, site) => {
  const engine = key('snmp_engine_id', `80001f8880${randomHex(random, 16)}`)
  const agreeing = random.pick([
    key('ssh_host_key', randomHex(random, 64)),
    key('name', `gateway-${n}`),
  ])
  return [
    createThing(`multihomed${n}`, site, [publicMac(random), publicMac(random)], {
      isSteady: true,
      reports: [
        {
          module: 'snmp-discover',
          everyMinutes: 10,
          keys: [engine, agreeing],
          withMac: false,
          atEach: true,
        },
      ],
    }),
  ]
}

const MAKERS: readonly Maker[] = [
  createServer,
  createServer,
  createPhone,
  createPhone,
  createGadget,
  createGadget,
  createPrinter,
  createClones,
  createTwins,
  createContainers,
  createSensor,
  createSpoofed,
  createMultiHomed,
]

/** Two routers that share an address by VRRP: the address is a thing of its own. */
const createRouters = (): TrueThing[] =>
  [1, 2].map(n =>
    createThing(`router${n}`, 'site-a', [`00:1b:21:00:00:0${n}`], {
      isSteady: true,
      reports: [
        {
          module: 'snmp-discover',
          everyMinutes: 30,
          keys: [key('snmp_engine_id', `8000000903001b210000${n}0`), key('serial', `RTR-${n}`)],
          withMac: true,
        },
      ],
    }),
  )

const lookAtRouters = (minute: number): TrueSighting[] => {
  const owner = Math.floor(minute / 120) % 2 === 0 ? 1 : 2
  const virtual = [key('mac', '00:00:5e:00:01:0a'), key('ip', '10.0.0.1')]
  const sightings = [sight('vip1', 'site-a', 'network-map', minute, virtual)]
  if (minute % 30 === 0) {
    const engine = key('snmp_engine_id', `8000000903001b210000${owner}0`)
    sightings.push(
      sight(`router${owner}`, 'site-a', 'snmp-discover', minute, [engine, key('ip', '10.0.0.1')]),
    )
  }
  return sightings
}

/** Things come and go; who comes gets a free address, often one that was just given up. */
const moveThings = (random: Random, things: readonly TrueThing[], minute: number): void => {
  const used = new Set(
    things.flatMap(({ site, interfaces }) => interfaces.map(({ ip }) => `${site} ${ip}`)),
  )
  for (const thing of things) {
    const stays = thing.isSteady ? thing.isOnline : random.randomBelow(100) >= 4
    if (stays && thing.isOnline) continue
    if (thing.isOnline) {
      thing.isOnline = false
      for (const own of thing.interfaces) own.ip = undefined
      continue
    }
    if (!thing.isSteady && random.randomBelow(4) > 0) continue
    thing.isOnline = true
    if (thing.isRotating && minute > 0)
      for (const own of thing.interfaces) own.mac = privateMac(random)
    for (const own of thing.interfaces) own.ip = leaseAddress(random, thing.site, used)
  }
}

const leaseAddress = (random: Random, site: string, used: Set<string>): string => {
  for (;;) {
    const ip = `10.${SITES.indexOf(site)}.${random.randomBelow(2)}.${10 + random.randomBelow(240)}`
    if (used.has(`${site} ${ip}`)) continue
    used.add(`${site} ${ip}`)
    return ip
  }
}

const lookAround = (random: Random, things: readonly TrueThing[], minute: number): TrueSighting[] =>
  things
    .filter(({ isOnline }) => isOnline)
    .flatMap(thing => [...seeInterfaces(thing, minute), ...seeReports(random, thing, minute)])

const seeInterfaces = ({ truth, site, interfaces }: TrueThing, minute: number): TrueSighting[] =>
  interfaces.map(({ mac, ip = '' }) =>
    sight(truth, site, 'network-map', minute, [key('mac', mac), key('ip', ip)]),
  )

const seeReports = (random: Random, thing: TrueThing, minute: number): TrueSighting[] =>
  thing.reports
    .filter(({ everyMinutes }) => minute % everyMinutes === 0)
    .flatMap(({ module, keys, withMac, atEach = false }) => {
      const { interfaces } = thing
      const places: Partial<TrueInterface>[] =
        interfaces.length === 0 ? [{}] : atEach ? interfaces : [random.pick(interfaces)]
      return places.map(({ mac, ip }) => {
        const address = ip === undefined ? [] : [key('ip', ip)]
        const hardware = withMac && mac !== undefined ? [key('mac', mac)] : []
        return sight(thing.truth, thing.site, module, minute, [...keys, ...address, ...hardware])
      })
    })

const sight = (
  truth: string,
  site: string,
  module: string,
  minute: number,
  keys: SightingKey[],
): TrueSighting => {
  const facts: SightingFacts = {}
  const at = START + minute * MINUTE
  return {
    truth,
    observation: { sighting: { keys, facts }, module, cellId: `cell-of-${site}`, site, at },
  }
}
