import { spawnSync } from 'node:child_process'
import t from 'tap'
import { COMMON_PORTS, FLEET_PORTS } from '../../discovery/net/port-sets.ts'
import {
  addressOf,
  BED_BYSTANDER,
  BED_HOSTS,
  BED_NETWORK,
  BED_SCANNER,
  listTruth,
} from '../support/lan-bed/hosts.ts'
import { LanBed, type ScanOrder } from '../support/lan-bed/lan-bed.ts'
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
  /** Sockets and timers that were left after the scan. */
  left: string[]
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

const indexOf = (label: string): number => BED_HOSTS.findIndex(each => each.label === label)

const fingerprint = (label: string): ScanOrder => ({
  module: 'http-fingerprint',
  input: { host: addressOf(indexOf(label)), port: 80 },
  scope: [BED_NETWORK],
})

t.test('modules in the helper process of a cell', { skip }, async t => {
  const [map, runtimes, printer, router, web] = await bed.scan([
    { module: 'network-map', scope: [] },
    { module: 'runtime-discover', input: { subnet: BED_NETWORK }, scope: [BED_NETWORK] },
    ...['printer', 'router', 'web'].map(fingerprint),
  ])

  t.test('network-map lists the neighbours that a scan has met', async t => {
    const rows = map?.rows ?? []
    const met = new Set(rows.filter(({ mac }) => mac !== null).map(({ address }) => address))
    const missed = BED_HOSTS.map((_, index) => addressOf(index)).filter(each => !met.has(each))
    t.strictSame(missed, [])
    t.ok(rows.some(({ kind, address }) => kind === 'own' && address === BED_SCANNER))
  })

  t.test('runtime-discover names the runtimes', async t => {
    const { rows = [], warnings, elapsedMs, loopDelayMaxMs } = runtimes ?? {}
    const found = rows.map(({ host, kind }) => `${host} ${kind}`)
    t.comment(`${elapsedMs} ms, loop of the daemon late by ${loopDelayMaxMs} ms at most`)
    t.comment(JSON.stringify(score(found, RUNTIMES)))
    t.strictSame(found.toSorted(), RUNTIMES.toSorted())
    t.strictSame(warnings, [])
  })

  t.test('http-fingerprint names products', async t => {
    t.match(printer?.rows, [{ products: [{ name: 'brother-printer' }] }])
    t.match(router?.rows, [{ products: [{ name: 'openwrt' }] }])
    // the stand-in of an absent nginx has no Server header
    if (bed.programs.includes('nginx')) t.match(web?.rows, [{ products: [{ name: 'nginx' }] }])
  })
})

t.test('a scan sends nothing to a host outside its scope', { skip }, async t => {
  const countReceived = () => bed.namespaces.countReceived(bed.bystander)
  const before = countReceived()
  const [, nowhere, refused] = await bed.scan([
    { module: 'runtime-discover', scope: [BED_NETWORK] },
    { module: 'runtime-discover', scope: [] },
    { module: 'runtime-discover', input: { subnet: BED_BYSTANDER }, scope: [BED_NETWORK] },
  ])
  t.equal(countReceived(), before)
  t.strictSame(nowhere?.rows, [], 'the own subnet is no scope')
  t.match(refused?.warnings, [/10\.77\.0\.200 is outside the scope/])
})

t.test('a scan that was ended leaves no connection and no timer', { skip }, t => {
  const { states, left } = scanPorts(COMMON_PORTS, '50')
  const results = Object.values(states).reduce((sum, each) => sum + each, 0)
  t.equal(results, 50)
  t.strictSame(left, [])
  t.end()
})
