import { spawnSync } from 'node:child_process'
import t from 'tap'
import { COMMON_PORTS, FLEET_PORTS } from '../../discovery/net/port-sets.ts'
import { addressOf, BED_HOSTS, BED_NETWORK, listTruth } from '../support/lan-bed/hosts.ts'
import { LanBed } from '../support/lan-bed/lan-bed.ts'
import { PATH } from '../support/lan-bed/programs.ts'

const opened = await LanBed.create()
const skip = typeof opened === 'string' ? opened : false
const bed = opened as LanBed
t.teardown(() => (skip === false ? bed.close() : undefined))

const SCAN_PORTS = new URL('../support/lan-bed/scan-ports.ts', import.meta.url).pathname

interface PortReport {
  open: string[]
  states: Record<string, number>
  elapsedMs: number
}

const scanPorts = (ports: readonly number[], ...more: string[]): PortReport =>
  JSON.parse(bed.run(process.execPath, SCAN_PORTS, BED_NETWORK, ports.join(), ...more))

/** Share of the truth that was found, and of what was found that is true. */
const score = (found: readonly string[], truth: readonly string[]) => {
  const hits = found.filter(each => truth.includes(each)).length
  return { recall: hits / truth.length, precision: hits / found.length }
}

const RUNTIMES = BED_HOSTS.flatMap(({ runtime }, index) =>
  runtime === undefined ? [] : [`${addressOf(index)} ${runtime}`],
)

if (skip === false) t.comment(`real programs: ${bed.programs.join(', ') || 'none'}`)

t.test('a port scan finds every open port of twelve hosts and no other', { skip }, async t => {
  const truth = listTruth()
  for (const ports of [FLEET_PORTS, COMMON_PORTS]) {
    const expected = truth.filter(each => ports.includes(Number(each.split(' ')[1])))
    const { open, states, elapsedMs } = scanPorts(ports)
    t.comment(`${ports.length} ports: ${JSON.stringify(states)} in ${elapsedMs} ms`)
    t.comment(JSON.stringify(score(open, expected)))
    t.strictSame(open, expected)
    // a host that drops packets is told from one that refuses
    t.equal(states.filtered, ports.length)
  }
})

const nmapMissing =
  spawnSync('nmap', ['--version'], { env: { PATH } }).error === undefined
    ? false
    : 'nmap is not installed'

t.test('a port scan finds what nmap -sT finds', { skip: skip || nmapMissing }, async t => {
  const text = bed.run('nmap', '-sT', '-n', '-p', FLEET_PORTS.join(), '-oG', '-', BED_NETWORK)
  const open = [...text.matchAll(/^Host: (\S+) .*Ports: (.*)$/gm)].flatMap(([, host, ports = '']) =>
    [...ports.matchAll(/(\d+)\/open\//g)].map(([, port]) => `${host} ${port}`),
  )
  t.strictSame(scanPorts(FLEET_PORTS).open, open.toSorted())
})

t.test('runtime-discover names the runtimes of a network', { skip }, async t => {
  const { rows, elapsedMs, loopDelayMaxMs, warnings } = await bed.scan({
    module: 'runtime-discover',
    input: { subnet: BED_NETWORK },
    scope: [BED_NETWORK],
  })
  const found = rows.map(({ host, kind }) => `${host} ${kind}`)
  t.comment(`${elapsedMs} ms, loop of the daemon late by ${loopDelayMaxMs} ms at most`)
  t.comment(JSON.stringify(score(found, RUNTIMES)))
  t.strictSame(found.toSorted(), RUNTIMES.toSorted())
  t.strictSame(warnings, [])
})

t.test('network-map lists the neighbours that a scan has met', { skip }, async t => {
  const { rows } = await bed.scan({ module: 'network-map', scope: [] })
  const neighbours = rows.filter(({ kind, mac }) => kind === 'neighbour' && mac !== null)
  const found = new Set(neighbours.map(({ address }) => address))
  t.strictSame(
    BED_HOSTS.map((_, index) => addressOf(index)).filter(address => !found.has(address)),
    [],
  )
  t.ok(rows.some(({ kind, address }) => kind === 'own' && address === '10.77.0.100'))
})

t.test('http-fingerprint names products of the network', { skip }, async t => {
  for (const [label, product] of [
    ['web', 'nginx'],
    ['printer', 'brother-printer'],
    ['router', 'openwrt'],
  ] as const) {
    // the stand-in of an absent nginx has no Server header
    if (label === 'web' && !bed.programs.includes('nginx')) continue
    const host = addressOf(BED_HOSTS.findIndex(each => each.label === label))
    const { rows } = await bed.scan({
      module: 'http-fingerprint',
      input: { host, port: 80 },
      scope: [BED_NETWORK],
    })
    t.match(rows, [{ products: [{ name: product }] }], label)
  }
})

t.test('a scan sends nothing to a host outside its scope', { skip }, async t => {
  const received = () => bed.namespaces.countReceived(bed.bystander)
  const before = received()
  scanPorts(FLEET_PORTS)
  await bed.scan({ module: 'runtime-discover', scope: [BED_NETWORK] })
  const refused = await bed.scan({
    module: 'runtime-discover',
    input: { subnet: '10.77.0.200' },
    scope: [BED_NETWORK],
  })
  t.match(refused.warnings, [/10\.77\.0\.200 is outside the scope/])
  t.equal(received(), before)
})

t.test('without a scope nothing of the own subnet is scanned', { skip }, async t => {
  const host = bed.namespaces.countReceived(bed.bystander)
  const connections = () => bed.namespaces.countConnections(bed.scanner)
  const { rows } = await bed.scan({ module: 'runtime-discover', scope: [] })
  t.strictSame(rows, [])
  t.equal(bed.namespaces.countReceived(bed.bystander), host)
  t.ok(connections() > 0)
})

t.test('a scan that was ended opens no connection any more', { skip }, async t => {
  const connections = () => bed.namespaces.countConnections(bed.scanner)
  const { states } = scanPorts(COMMON_PORTS, '50')
  const after = connections()
  t.equal(
    Object.values(states).reduce((sum, each) => sum + each, 0),
    50,
  )
  await bed.scan({ module: 'network-map', scope: [] })
  t.equal(connections(), after)
})
