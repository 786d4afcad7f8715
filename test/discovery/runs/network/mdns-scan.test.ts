import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import t from 'tap'
import module from '../../../../discovery/modules/network/mdns-scan.ts'
import { isLinkInScope } from '../../../../discovery/net/link-scope.ts'
import { Avahi } from '../../../support/avahi.ts'
import {
  NetworkLab,
  namespacesMissing,
  programMissing,
  waitForLine,
} from '../../../support/network-lab.ts'

interface Row {
  instance: string
  type: string
  interface: string
  host: string
  port: number
  addresses: string[]
  is_gone: boolean
}

const skip =
  namespacesMissing ||
  programMissing('avahi-daemon') ||
  programMissing('avahi-browse') ||
  programMissing('dbus-daemon')

const SUBNET = '10.9.0.0/24'
const publishScript = `${import.meta.dirname}/../../../support/lab-publish.ts`

const scan = async (lab: NetworkLab, host: string, options: object): Promise<Row[]> => {
  const lines = (await lab.runScript(
    host,
    'lab-scan.ts',
    'mdns-scan',
    JSON.stringify(options),
  )) as {
    row?: Row
  }[]
  const rows = lines.flatMap(({ row }) => row ?? [])
  for (const row of rows) module.row.parse(row)
  return rows
}

const describe = ({ instance, type, host, port, addresses }: Row): string[] =>
  addresses.map(address => [instance, type, host, port, address].join('|'))

/** Packets that reach a machine while something happens on another one. */
const countPacketsFrom = async (
  lab: NetworkLab,
  source: string,
  listener: ChildProcess,
  act: () => Promise<unknown>,
): Promise<number> => {
  let count = 0
  createInterface({ input: listener.stdout as NodeJS.ReadableStream }).on('line', line => {
    if (JSON.parse(line).from === source) count++
  })
  await act()
  // the marker is sent after everything else on the same segment
  await lab.runScript('marker', 'lab-scan.ts', 'mdns-scan', marker)
  return count
}

const marker = JSON.stringify({ scope: [SUBNET], input: { timeout: 0.5 } })

t.test(
  'a scan finds what avahi-browse finds, and what is announced on loopback',
  { skip },
  async t => {
    await using lab = new NetworkLab()
    for (const [at, name] of ['scanner', 'office', 'garage'].entries())
      lab.addHost(name, `10.9.0.${at + 2}/24`)
    using _office = await Avahi.start(lab, 'office', [
      { name: 'Büro-Drucker', type: '_ipp._tcp', port: 631, txt: ['ty=LaserJet', 'UUID=u1'] },
      { name: 'Dr. Web v1.2', type: '_http._tcp', port: 80, txt: ['model=NAS'] },
      { name: 'office', type: '_ssh._tcp', port: 22 },
    ])
    using _garage = await Avahi.start(lab, 'garage', [
      { name: 'Door', type: '_hap._tcp', port: 5010, txt: ['md=D1', 'id=aa:bb:cc:dd:ee:ff'] },
      { name: 'Sensor', type: '_coap._udp', port: 5683 },
    ])
    using scanner = await Avahi.start(lab, 'scanner', [
      { name: 'own', type: '_ssh._tcp', port: 22 },
    ])
    const local = lab.start('scanner', process.execPath, [publishScript, 'shoal-x', '7070', 'lo'])
    const [expected] = await Promise.all([scanner.browse(), waitForLine(local, /instance/)])
    const found = await scan(lab, 'scanner', { scope: [SUBNET] })
    const rows = found.filter(each => each.interface !== 'lo')
    t.equal(expected.length, 2 * 6, 'every service with an address of each family')
    t.strictSame(rows.flatMap(describe).toSorted(), expected)
    t.strictSame(found.filter(each => each.interface === 'lo').flatMap(describe), [
      'shoal-x|_shoal._tcp|shoal-x.local|7070|127.0.0.1',
    ])
    t.match(
      rows.find(({ type }) => type === '_hap._tcp'),
      {
        model: 'D1',
        device_id: 'hap:aa:bb:cc:dd:ee:ff',
      },
    )
  },
)

t.test('a service that stops during the scan is reported as gone', { skip }, async t => {
  await using lab = new NetworkLab()
  lab.addHost('scanner', '10.9.0.2/24')
  lab.addHost('office', '10.9.0.3/24')
  using office = await Avahi.start(lab, 'office', [{ name: 'Web', type: '_http._tcp', port: 80 }])
  const options = { scope: [SUBNET], input: { timeout: 20 } }
  const child = lab.start('scanner', process.execPath, [
    `${import.meta.dirname}/../../../support/lab-scan.ts`,
    'mdns-scan',
    JSON.stringify(options),
  ])
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })
  const seen: boolean[] = []
  for await (const line of lines) {
    const { row } = JSON.parse(line) as { row?: Row }
    if (row?.instance !== 'Web') continue
    seen.push(row.is_gone)
    if (row.is_gone) break
    await office.stop()
  }
  t.strictSame(seen, [false, true])
})

t.test('questions leave a machine only on links that are in the scope', { skip }, async t => {
  await using lab = new NetworkLab()
  for (const [at, name] of ['scanner', 'listener', 'marker'].entries())
    lab.addHost(name, `10.9.0.${at + 2}/24`)
  const listener = lab.start('listener', process.execPath, [
    `${import.meta.dirname}/../../../support/lab-mdns-listen.ts`,
  ])
  await waitForLine(listener, /ready/)
  const count = (scope: string[]) =>
    countPacketsFrom(lab, '10.9.0.2', listener, () =>
      scan(lab, 'scanner', { scope, input: { timeout: 0.6 } }),
    )
  t.equal(await count([]), 0, 'without a scope')
  t.equal(await count(['10.9.0.2', '10.9.0.0/25', '192.0.2.0/24']), 0, 'with a part of the subnet')
  t.equal(await count([SUBNET]), 1, 'with the subnet')
  listener.kill()
  await once(listener, 'exit')
})

t.test('a link is in the scope when one entry covers its subnet', async t => {
  const link = {
    name: 'eth0',
    address: '10.9.0.2',
    cidr: '10.9.0.2/24',
    isLoopback: false,
    addresses: [],
  }
  for (const [target, isCovered] of [
    ['10.9.0.0/24', true],
    ['10.9.0.0/23', true],
    ['10.9.0.0/25', false],
    ['10.9.0.2', false],
    ['10.8.0.0/24', false],
    ['2001:db8::/32', false],
    ['printer.lan', false],
  ] as const)
    t.equal(isLinkInScope({ entries: [{ target }] }, link), isCovered, target)
})

t.test('a row becomes a sighting with the keys of its device', async t => {
  const [sighting] =
    module.observe?.(
      {
        instance: 'Web',
        type: '_http._tcp',
        interface: 'eth0',
        host: 'NAS.local',
        port: 80,
        addresses: ['10.9.0.3', 'fe80::1'],
        ttl_s: 4500,
        txt: {},
        vendor: null,
        model: 'NAS',
        serial: 'S1',
        firmware: null,
        device_id: 'hap:x',
        macs: ['00:11:22:33:44:55', '02:11:22:33:44:55'],
        is_gone: false,
        is_host_gone: false,
      },
      { cellId: 'cell-a' },
    ) ?? []
  t.strictSame(
    sighting?.keys.map(({ kind, value }) => `${kind} ${value}`),
    [
      'mdns_id hap:x',
      'serial S1',
      'mac 00:11:22:33:44:55',
      'private_mac 02:11:22:33:44:55',
      'ip 10.9.0.3',
      'name nas',
    ],
  )
  t.match(sighting, { ttl_seconds: 4500, facts: { model: 'NAS', claimed_types: ['_http._tcp'] } })
})
