import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import module from '../../../../discovery/modules/network/snmp-discover.ts'
import { readEngineId } from '../../../../discovery/runs/network/snmp/engine-id.ts'
import { SnmpSession } from '../../../../discovery/runs/network/snmp/session.ts'
import { readCounter, readText } from '../../../../discovery/runs/network/snmp/values.ts'
import { walkTable } from '../../../../discovery/runs/network/snmp/walk.ts'
import { NetworkLab, namespacesMissing, programMissing } from '../../../support/network-lab.ts'
import { startSnmpd } from '../../../support/snmpd.ts'

const skip = namespacesMissing || programMissing('snmpd')

const SUBNET = '10.9.0.0/29'

interface Line {
  row?: Record<string, unknown>
  warning?: string
}

const scan = async (lab: NetworkLab, options: object): Promise<Line[]> => {
  const full = { input: { subnet: SUBNET }, scope: [SUBNET], ...options }
  const lines = await lab.runScript('scanner', 'lab-scan.ts', 'snmp-discover', JSON.stringify(full))
  for (const { row } of lines as Line[]) if (row !== undefined) module.row.parse(row)
  return lines as Line[]
}

const rowsOf = (lines: readonly Line[]): Record<string, unknown>[] =>
  lines.flatMap(({ row }) => (row === undefined ? [] : [row]))

/** Objects of a switch that snmpd itself does not have (snmpd.conf(5), override). */
const SWITCH = [
  // ENTITY-MIB: a chassis
  'override 1.3.6.1.2.1.47.1.1.1.1.2.1 octet_str "48-port switch"',
  'override 1.3.6.1.2.1.47.1.1.1.1.5.1 integer 3',
  'override 1.3.6.1.2.1.47.1.1.1.1.10.1 octet_str "7.2.1"',
  'override 1.3.6.1.2.1.47.1.1.1.1.11.1 octet_str "SN-4711"',
  'override 1.3.6.1.2.1.47.1.1.1.1.12.1 octet_str "Acme"',
  'override 1.3.6.1.2.1.47.1.1.1.1.13.1 octet_str "AC-48"',
  // LLDP-MIB: a neighbour on port 7
  'override 1.0.8802.1.1.2.1.3.7.1.4.7 octet_str "uplink"',
  'override 1.0.8802.1.1.2.1.4.1.1.4.0.7.1 integer 4',
  'override 1.0.8802.1.1.2.1.4.1.1.5.0.7.1 octet_str 0x001122334455',
  'override 1.0.8802.1.1.2.1.4.1.1.9.0.7.1 octet_str "core-1"',
  // Q-BRIDGE-MIB: a station in VLAN 10 on bridge port 1, which is interface 1
  'override 1.3.6.1.2.1.17.1.4.1.2.1 integer 1',
  'override 1.3.6.1.2.1.17.7.1.2.2.1.2.10.2.17.34.51.68.85 integer 1',
]

/** Objects of a printer, which the same agent answers for (RFC 3805; RFC 2790, hrDeviceTable). */
const PRINTER = [
  'override 1.3.6.1.2.1.25.3.2.1.2.900001 object_id 1.3.6.1.2.1.25.3.1.5',
  'override 1.3.6.1.2.1.25.3.2.1.3.900001 octet_str "LaserJet 400"',
  'override 1.3.6.1.2.1.43.5.1.1.17.1 octet_str "VNB-1"',
  'override 1.3.6.1.2.1.43.10.2.1.4.1.1 counter 4711',
  ...[
    // black toner of which a quarter is left, and a waste box that is not measured
    [1, 3, 21, 'Black cartridge', 2000, 500],
    [0, 4, 4, 'Waste box', -2, -3],
  ].flatMap(([colorant, kind, type, description, capacity, level], at) => [
    `override 1.3.6.1.2.1.43.11.1.1.3.1.${at + 1} integer ${colorant}`,
    `override 1.3.6.1.2.1.43.11.1.1.4.1.${at + 1} integer ${kind}`,
    `override 1.3.6.1.2.1.43.11.1.1.5.1.${at + 1} integer ${type}`,
    `override 1.3.6.1.2.1.43.11.1.1.6.1.${at + 1} octet_str "${description}"`,
    `override 1.3.6.1.2.1.43.11.1.1.8.1.${at + 1} integer ${capacity}`,
    `override 1.3.6.1.2.1.43.11.1.1.9.1.${at + 1} integer ${level}`,
  ]),
  'override 1.3.6.1.2.1.43.12.1.1.4.1.1 octet_str "black"',
]

t.test('a real agent is read by community and by user', { skip }, async t => {
  await using lab = new NetworkLab()
  lab.addHost('scanner', '10.9.0.1/29')
  lab.addHost('switch', '10.9.0.2/29')
  lab.addHost('server', '10.9.0.3/29')
  using _switch = await startSnmpd(lab, 'switch', [
    'rocommunity public',
    'view everything included .1',
    'rocommunity secret-c default -V everything',
    'sysname switch-1',
    'syslocation rack 4',
    'sysservices 2',
    ...SWITCH,
    ...PRINTER,
  ])
  using _server = await startSnmpd(lab, 'server', [
    'createUser shoal SHA-256 "auth-passphrase" AES "priv-passphrase"',
    'rouser shoal priv',
    'sysname server-1',
  ])
  const folder = mkdtempSync(join(tmpdir(), 'shoal-snmp-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const fileOf = (name: string, text: string): string => {
    const path = join(folder, name)
    writeFileSync(path, `${text}\n`)
    return path
  }
  const user = {
    name: 'shoal',
    auth_protocol: 'sha256',
    auth_key_file: fileOf('auth', 'auth-passphrase'),
    priv_protocol: 'aes',
    priv_key_file: fileOf('priv', 'priv-passphrase'),
  }

  await t.test('version 2c with tables of interfaces, components and neighbours', async t => {
    const config = { communities_file: fileOf('communities', 'secret-c') }
    const [row, ...more] = rowsOf(await scan(lab, { config })).filter(({ version }) => version)
    t.equal(more.length, 0, 'the other agent does not know the community')
    t.match(row, {
      ip: '10.9.0.2',
      version: '2c',
      name: 'switch-1',
      location: 'rack 4',
      is_bridge: true,
      enterprise: 8072,
      vendor: 'Acme',
      model: 'AC-48',
      serial: 'SN-4711',
      firmware: '7.2.1',
      default_credentials: null,
      is_truncated: false,
    })
    t.match(row?.interfaces, [
      { name: 'lo', oper_up: true },
      { name: 'eth0', mac: /^[0-9a-f:]{17}$/ },
    ])
    t.match(row?.neighbours, [
      { local_port: 'uplink', chassis_mac: '00:11:22:33:44:55', system_name: 'core-1' },
    ])
    t.match(row?.stations, [{ mac: '02:11:22:33:44:55', vlan: 10, port: 'lo' }])
    t.match(row?.printer, {
      ...{ model: 'LaserJet 400', serial: 'VNB-1', pages: 4711 },
      supplies: [
        { type: 'toner_cartridge', colour: 'black', level_percent: 25, is_receptacle: false },
        { type: 'waste_toner', colour: null, level_percent: null, is_receptacle: true },
      ],
    })
    const memory_bytes = Math.floor(totalmem() / 1024) * 1024
    t.match(row?.resources, { processors: cpus().length, memory_bytes })
    const [sighting] = module.observe?.(row as never, { cellId: 'cell-a' }) ?? []
    t.match(sighting?.facts, { model: 'AC-48', neighbours: ['core-1', '02:11:22:33:44:55'] })
    t.ok(sighting?.keys.some(({ kind, value }) => kind === 'serial' && value === 'SN-4711'))
  })

  await t.test('version 3 with authentication and privacy', async t => {
    const rows = rowsOf(await scan(lab, { config: { users: [user] } }))
    t.match(
      rows.find(({ ip }) => ip === '10.9.0.3'),
      {
        ...{ version: '3', name: 'server-1', engine_id: /^80001f88/, engine_vendor: 'Net-SNMP' },
        ...{ resources: { processors: cpus().length }, printer: null },
      },
    )
  })

  await t.test('a wrong passphrase gives the engine and nothing else', async t => {
    const config = { users: [{ ...user, auth_key_file: fileOf('wrong', 'wrong-passphrase') }] }
    const rows = rowsOf(await scan(lab, { config }))
    t.match(
      rows.find(({ ip }) => ip === '10.9.0.3'),
      { version: null, name: null, engine_id: /^80001f88/, interfaces: [] },
    )
  })

  await t.test('without credentials only engines are found, and the reader is told', async t => {
    const lines = await scan(lab, {})
    t.strictSame(
      rowsOf(lines)
        .map(({ ip, version }) => [ip, version])
        .sort(),
      [
        ['10.9.0.2', null],
        ['10.9.0.3', null],
      ],
    )
    t.equal(lines.find(({ warning }) => warning)?.warning, 'auth_missing')
  })

  await t.test('an agent with the default community is reported', async t => {
    const rows = rowsOf(await scan(lab, { config: { communities: ['public'] } }))
    t.match(rows.map(({ ip, default_credentials }) => [ip, default_credentials]).toSorted(), [
      ['10.9.0.2', true],
      ['10.9.0.3', false],
    ])
    t.notMatch(JSON.stringify(rows), /passphrase|secret-c/)
  })

  await t.test('no packet leaves for an address outside the scope', async t => {
    const before = await lab.countSentUdp('scanner')
    const lines = await scan(lab, { scope: ['10.9.0.4/30'], config: { communities: ['public'] } })
    t.strictSame(rowsOf(lines), [])
    const sent = (await lab.countSentUdp('scanner')) - before
    // two addresses of hosts, each with a question for the engine and one for the community
    t.ok(sent <= 2 * 2, `${sent} packets`)
  })
})

t.test('an agent whose table never ends, or turns back, is left after its limit', async t => {
  const target = { address: '127.0.0.1', port: 1, signal: new AbortController().signal }
  using session = SnmpSession.openCommunity(target, 'public')
  let at = 0
  let asked = 0
  session.getNext = async () => {
    asked++
    return Array.from({ length: 20 }, () => ({ oid: `1.3.6.1.1.${++at}`, value: at }))
  }
  const endless = await walkTable(session, { entry: '1.3.6.1', columns: [1], maxRows: 50 })
  t.match(endless, { isTruncated: true })
  t.ok(endless.rows.size <= 50)
  t.equal(asked, 3)
  session.getNext = async () => [{ oid: '1.3.6.1.1.1', value: 1 }]
  t.match(await walkTable(session, { entry: '1.3.6.1', columns: [1], maxRows: 50 }), {
    isTruncated: true,
  })
})

t.test('an answer that is no SNMP ends nothing', async t => {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.teardown(() => socket.close())
  socket.on('message', (bytes, { port, address }) => {
    for (const answer of [Buffer.of(0), Buffer.alloc(60, 0x30), bytes.subarray(0, 10)])
      socket.send(answer, port, address)
  })
  const { port } = socket.address()
  const signal = new AbortController().signal
  using session = SnmpSession.openCommunity({ address: '127.0.0.1', port, signal }, 'public')
  t.equal(await session.get(['1.3.6.1.2.1.1.1.0']), undefined)
})

t.test('an engine id states its maker and, in one format, a MAC address', async t => {
  t.strictSame(readEngineId('80000009030011223344ff'), {
    vendor: 'Cisco',
    mac: '00:11:22:33:44:ff',
  })
  t.strictSame(readEngineId('80001f8880aabbccdd'), { vendor: 'Net-SNMP', mac: null })
  t.strictSame(readEngineId(null), { vendor: null, mac: null })
})

t.test('octet strings are text where they are UTF-8, else hexadecimal', async t => {
  t.equal(readText(Buffer.from('Büro\n 2\0'), 64), 'Büro 2')
  t.equal(readText(Buffer.from([0xff, 0x01]), 64), 'ff01')
  t.equal(readText(Buffer.from('  '), 64), null)
  t.equal(readCounter(Buffer.from('ffffffffffffffff', 'hex')), '18446744073709551615')
})
