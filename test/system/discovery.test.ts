import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { listHosts } from '../../coordinator/discovery/entities/operations/discovery/list-hosts.ts'
import { FLEET_PORTS, HOST_PORTS } from '../../discovery/net/port-sets.ts'
import { Avahi } from '../support/avahi.ts'
import { COMMON_PORTS } from '../support/common-ports.ts'
import {
  addressOf,
  addressOf6,
  BED_BYSTANDER,
  BED_HOSTS,
  BED_NETWORK,
  BED_NETWORK_6,
  BED_SCANNER,
  BED_SNMP_USER,
  BED_VOID,
  indexOf,
  listRuntimes,
  listTruth,
  listTruth6,
} from '../support/lan-bed/hosts.ts'
import { LanBed, type ScanOrder } from '../support/lan-bed/lan-bed.ts'
import { programMissing } from '../support/network-lab.ts'
import { countForeignPackets } from '../support/packet-counter.ts'

const opened = await LanBed.create()
const skip = typeof opened === 'string' ? opened : false
const bed = opened as LanBed
t.teardown(() => (skip === false ? bed.close() : undefined))

const SCAN_PORTS = new URL('../support/lan-bed/scan-ports.ts', import.meta.url).pathname

interface PortReport {
  open: string[]
  states: Record<string, number>
  elapsedMs: number
  /** Sockets and timers that were left after the scan. */
  left: string[]
}

const scanPorts = async (
  network: string,
  ports: readonly number[],
  ...more: string[]
): Promise<PortReport> =>
  JSON.parse(await bed.run(process.execPath, SCAN_PORTS, network, ports.join(), ...more))

/** Prints the share of the truth that was found, and of what was found that is true. */
const printScore = (t: Test, found: readonly string[], truth: readonly string[]): void => {
  const hits = found.filter(each => truth.includes(each)).length
  const [recall, precision] = [hits / truth.length, hits / found.length]
  t.comment(`recall ${recall}, precision ${precision}, ${truth.length} to find`)
}

if (skip === false) t.comment(`real programs: ${bed.programs.toSorted().join(', ') || 'none'}`)

const atPorts = (truth: readonly string[], ports: readonly number[]): string[] =>
  truth.filter(each => ports.includes(Number(each.split(' ')[1])))

t.test('a port scan finds every open port of the hosts and no other', { skip }, async t => {
  for (const ports of [FLEET_PORTS, COMMON_PORTS]) {
    const expected = atPorts(listTruth(), ports)
    const { open, states, elapsedMs } = await scanPorts(BED_NETWORK, ports)
    t.comment(`${ports.length} ports: ${JSON.stringify(states)} in ${elapsedMs} ms`)
    printScore(t, open, expected)
    t.strictSame(open, expected)
    // a host that drops packets is told from one that refuses
    t.equal(states.filtered, ports.length)
  }
})

t.test('a scan over IPv6 probes the hosts that answer on the link alone', { skip }, async t => {
  const expected = atPorts(listTruth6(), FLEET_PORTS)
  const { open, states, elapsedMs } = await scanPorts(BED_NETWORK_6, FLEET_PORTS)
  t.comment(`${FLEET_PORTS.length} ports: ${JSON.stringify(states)} in ${elapsedMs} ms`)
  printScore(t, open, expected)
  t.strictSame(open, expected)
  // the scanner's own address is one of the network
  const hosts = BED_HOSTS.filter(({ isIpv6 }) => isIpv6).length + 1
  t.equal((states.open ?? 0) + (states.closed ?? 0), hosts * FLEET_PORTS.length)
  t.notOk(states.filtered, 'no address without a host was probed')
})

t.test(
  'a port scan finds what nmap -sT finds',
  { skip: skip || programMissing('nmap') },
  async t => {
    const ports = FLEET_PORTS
    for (const [network, options] of [
      [BED_NETWORK, []],
      [BED_NETWORK_6, ['-6']],
    ] as const) {
      const words = ['-sT', '-n', ...options, '-p', ports.join(), '-oG', '-', network]
      const text = await bed.run('nmap', ...words)
      const open = [...text.matchAll(/^Host: (\S+) .*Ports: (.*)$/gm)].flatMap(
        ([, host, found = '']) =>
          [...found.matchAll(/(\d+)\/open\//g)].map(([, port]) => `${host} ${port}`),
      )
      t.strictSame((await scanPorts(network, ports)).open, open.toSorted(), network)
    }
  },
)

t.test('a scan of what is there finds each host of the link once', { skip }, async t => {
  const modules = ['host-scan', 'network-map', 'mdns-scan']
  // a question to the group needs the whole link in the scope
  const scopes = [[BED_NETWORK, BED_NETWORK_6], [], ['10.77.0.0/24']]
  const reports = await bed.scan(modules.map((module, at) => ({ module, scope: scopes[at] ?? [] })))
  const hosts = listHosts(
    reports.map(({ rows }, at) => ({
      module: modules[at] ?? '',
      rows: rows.map(row => ({ ...row, cell_id: 'cell_1' })),
    })),
  )
  const of = (address: string) => hosts.filter(({ addresses }) => addresses.includes(address))
  const [cell] = of(BED_SCANNER)
  t.match(cell, { cell_id: 'cell_1' })
  for (const [index, { label, isIpv6, services = [], isHidden }] of BED_HOSTS.entries()) {
    const found = of(addressOf(index))
    t.equal(found.length, 1, label)
    t.ok(found[0]?.mac, label)
    t.equal(found[0]?.cell_id, null)
    if (isIpv6) t.ok(found[0]?.addresses.includes(addressOf6(index)), `${label} over IPv6`)
    const ports = services.map(({ port }) => port).filter(port => HOST_PORTS.includes(port))
    const seen = found[0]?.ports.map(({ port }) => port)
    t.strictSame(seen?.toSorted(), isHidden ? [] : ports.toSorted(), `ports of ${label}`)
  }
  t.match(of(addressOf(indexOf('shell')))[0]?.ports, [{ port: 22, name: 'ssh' }])
  if (bed.programs.includes('avahi'))
    t.match(of(addressOf(indexOf('nas')))[0]?.name, /\.local$/, 'names are announced')
})

const fingerprint = (label: string): ScanOrder => ({
  module: 'http-fingerprint',
  input: { host: addressOf(indexOf(label)), port: 80 },
  scope: [BED_NETWORK],
})

t.test('modules in the helper process of a cell', { skip }, async t => {
  // both families are met by a scan first
  await scanPorts(BED_NETWORK, [22])
  await scanPorts(BED_NETWORK_6, [22])
  const [map, runtimes, printer, router, web] = await bed.scan([
    { module: 'network-map', scope: [] },
    { module: 'runtime-discover', input: { subnet: BED_NETWORK }, scope: [BED_NETWORK] },
    ...['printer', 'router', 'web'].map(fingerprint),
  ])

  t.test('network-map lists the neighbours that a scan has met', async t => {
    const rows = map?.rows ?? []
    const met = new Set(rows.filter(({ mac }) => mac !== null).map(({ address }) => address))
    const expected = BED_HOSTS.flatMap(({ isIpv6 }, index) =>
      isIpv6 ? [addressOf(index), addressOf6(index)] : [addressOf(index)],
    )
    t.strictSame(
      expected.filter(each => !met.has(each)),
      [],
    )
    t.ok(rows.some(({ kind, address }) => kind === 'own' && address === BED_SCANNER))
    const isLinkLocal = ({ kind, address }: Record<string, unknown>): boolean =>
      kind === 'own' && /^fe80:/.test(String(address))
    t.ok(rows.some(isLinkLocal), 'link-local addresses are listed')
  })

  t.test('runtime-discover names every runtime', async t => {
    const { rows = [], warnings, elapsedMs } = runtimes ?? {}
    const found = rows.map(({ host, port, kind }) => `${host} ${port} ${kind}`)
    t.comment(`${elapsedMs} ms`)
    printScore(t, found, listRuntimes())
    t.strictSame(found.toSorted(), listRuntimes())
    t.strictSame(warnings, [])
  })

  t.test('http-fingerprint names products', async t => {
    t.match(printer?.rows, [{ products: [{ name: 'brother-printer' }] }])
    t.match(router?.rows, [{ products: [{ name: 'openwrt' }] }])
    // the stand-in of an absent nginx has no Server header
    if (bed.programs.includes('nginx')) t.match(web?.rows, [{ products: [{ name: 'nginx' }] }])
  })
})

const snmpMissing = skip || programMissing('snmpd')

t.test('snmp-discover reads agents of version 2c and version 3', { skip: snmpMissing }, async t => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-bed-snmp-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  for (const kind of ['auth', 'priv'] as const)
    writeFileSync(join(folder, kind), `${BED_SNMP_USER[kind]}\n`)
  const config = {
    communities: ['public'],
    users: [
      {
        name: BED_SNMP_USER.name,
        auth_protocol: 'sha256',
        auth_key_file: join(folder, 'auth'),
        priv_protocol: 'aes',
        priv_key_file: join(folder, 'priv'),
      },
    ],
  }
  const order = { module: 'snmp-discover', input: { subnet: BED_NETWORK }, scope: [BED_NETWORK] }
  const [report] = await bed.scan([{ ...order, config }])
  const rows = report?.rows ?? []
  const found = rows.map(({ ip, version, name }) => `${ip} ${version} ${name}`)
  const truth = [
    `${addressOf(indexOf('printer'))} 2c printer`,
    `${addressOf(indexOf('router'))} 3 router`,
  ]
  t.comment(`${report?.elapsedMs} ms`)
  printScore(t, found, truth)
  t.strictSame(found.toSorted(), truth.toSorted())
  t.match(
    rows.find(({ name }) => name === 'printer'),
    {
      serial: 'E77B1234',
      printer: { pages: 1200, supplies: [{ type: 'toner_cartridge', level_percent: 60 }] },
      resources: { memory_bytes: Number },
    },
  )
  t.match(
    rows.find(({ name }) => name === 'router'),
    { is_router: true, printer: null },
  )
})

const avahiMissing =
  skip ||
  programMissing('avahi-daemon') ||
  programMissing('avahi-browse') ||
  programMissing('dbus-daemon')

t.test('mdns-scan finds what avahi-browse finds', { skip: avahiMissing }, async t => {
  using avahi = await Avahi.start(bed.lab, 'scanner')
  const truth = await avahi.browse()
  const [report] = await bed.scan([{ module: 'mdns-scan', scope: ['10.77.0.0/24'] }])
  const found = (report?.rows ?? []).flatMap(({ instance, type, host, port, addresses }) =>
    (addresses as string[]).map(address => [instance, type, host, port, address].join('|')),
  )
  printScore(t, found, truth)
  t.strictSame(found.toSorted(), truth)
  const services = BED_HOSTS.flatMap(({ mdns = [] }) => mdns.map(({ type }) => type))
  t.equal(new Set(truth.map(line => line.split('|')[1])).size, new Set(services).size)
  t.ok(
    truth.some(line => line.includes('fd77::')),
    'with addresses of IPv6',
  )
})

t.test('a scan stays in its scope', { skip: skip || programMissing('nft') }, async t => {
  const networks = { ip: BED_NETWORK, ip6: BED_NETWORK_6 }
  const readForeign = await countForeignPackets(bed.lab, 'scanner', networks)
  const order = { module: 'runtime-discover', scope: [BED_NETWORK] }
  const [, , nowhere, refused] = await bed.scan([
    order,
    { ...order, scope: [BED_NETWORK_6] },
    { ...order, scope: [] },
    { ...order, input: { subnet: BED_BYSTANDER } },
    { module: 'snmp-discover', input: { subnet: '10.77.0.0/24' }, scope: [BED_NETWORK] },
    { module: 'http-fingerprint', input: { host: BED_BYSTANDER }, scope: [BED_NETWORK] },
    { module: 'tls-cert-check', input: { domains: [BED_BYSTANDER] }, scope: [BED_NETWORK] },
  ])
  t.equal(await readForeign(), 0, 'no packet left for another network')
  t.strictSame(nowhere?.rows, [], 'the own subnet is no scope')
  t.match(refused?.warnings, [/10\.77\.0\.200 is outside the scope/])
  await bed.scan([{ ...order, input: { subnet: BED_BYSTANDER }, scope: [BED_BYSTANDER] }])
  t.ok((await readForeign()) > 0, 'the counter counts')
})

t.test('a scan ends at its deadline when every host swallows its packets', { skip }, async t => {
  const lines = (await bed.lab.runScript(
    'scanner',
    'lab-scan.ts',
    'runtime-discover',
    JSON.stringify({ input: { subnet: BED_VOID }, scope: [BED_VOID], deadlineSeconds: 1 }),
  )) as { row?: object; warning?: string; message?: string; left?: string[]; elapsedMs?: number }[]
  t.match(lines, [
    { warning: 'partial_result', message: 'it was ended after 1 s' },
    { left: [], elapsedMs: Number },
  ])
  t.comment(`ended after ${lines.at(-1)?.elapsedMs} ms`)
})

t.test('a scan that was ended leaves no connection and no timer', { skip }, async t => {
  const { states, left } = await scanPorts(BED_NETWORK, COMMON_PORTS, '50')
  const results = Object.values(states).reduce((sum, each) => sum + each, 0)
  t.equal(results, 50)
  t.strictSame(left, [])
})
