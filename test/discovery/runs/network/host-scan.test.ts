import t from 'tap'
import hostScan from '../../../../discovery/modules/network/host-scan.ts'
import { nameBanner } from '../../../../discovery/runs/network/hosts/identify-port.ts'
import {
  NetworkLab,
  namespacesMissing,
  programMissing,
  waitForLine,
} from '../../../support/network-lab.ts'

interface Line {
  row?: {
    address: string
    mac: string | null
    is_own: boolean
    answers_every_port: boolean
    ports: { port: number; name: string }[]
  }
  warning?: string
  message?: string
}

/** A machine that listens on a port, with what it sends to who connects. */
const SERVER = `
  const [port, banner] = process.argv.slice(1)
  const received = []
  require('node:net').createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', bytes => process.stdout.write('got ' + bytes.length + '\\n'))
    if (banner) socket.write(banner + '\\r\\n')
  }).listen(Number(port), '::', () => process.stdout.write('ready\\n'))
`
const WEB = `
  require('node:http').createServer((_request, response) =>
    response.setHeader('server', 'nginx/1.22.1').end('<title>Cam</title>'),
  ).listen(80, '::', () => process.stdout.write('ready\\n'))
`

/** Rules of a machine that accepts every port but one: all others lead to one listener. */
const EVERY_PORT = `
  table inet shoal {
    chain every {
      type nat hook prerouting priority dstnat;
      tcp dport != { 22, 7 } redirect to :7
    }
  }`

const SCOPE = ['10.9.1.0/24', 'fd99::/120']

t.test(
  'six hosts of a link are found, whatever they answer',
  { skip: namespacesMissing },
  async t => {
    await using lab = new NetworkLab()
    lab.addHost('scanner', '10.9.1.1/24', 'fd99::1/64')
    const serve = async (name: string, code: string, ...args: string[]) => {
      const child = lab.start(name, process.execPath, ['-e', code, '--', ...args])
      await waitForLine(child, /ready/)
      return child
    }
    lab.addHost('web', '10.9.1.11/24')
    lab.addHost('shell', '10.9.1.12/24')
    lab.addHost('odd', '10.9.1.13/24')
    lab.addHost('silent', '10.9.1.14/24')
    lab.hideFrom('silent', '10.9.1.1')
    lab.addHost('six', 'fd99::15/64')
    lab.addHost('printer', '10.9.1.16/24')
    await serve('web', WEB)
    await serve('shell', SERVER, '22', 'SSH-2.0-OpenSSH_9.2p1 Debian')
    await serve('odd', SERVER, '47111')
    await serve('six', SERVER, '22', 'SSH-2.0-dropbear_2022.83')
    const printer = await serve('printer', SERVER, '9100')
    let printed = 0
    printer.stdout?.on('data', () => printed++)

    const scan = async (scope: string[]): Promise<Line[]> =>
      (await lab.runScript(
        'scanner',
        'lab-scan.ts',
        'host-scan',
        JSON.stringify({ scope }),
      )) as Line[]
    const lines = await scan(SCOPE)
    const rows = lines.flatMap(({ row }) => row ?? [])
    for (const row of rows) hostScan.row.parse(row)
    const found = rows.filter(({ is_own }) => !is_own)
    t.strictSame(
      found
        .map(({ address, ports }) => [address, ...ports.map(each => `${each.port} ${each.name}`)])
        .sort(),
      [
        ['10.9.1.11', '80 http'],
        ['10.9.1.12', '22 ssh'],
        ['10.9.1.13'],
        ['10.9.1.14'],
        ['10.9.1.16', '9100 unknown'],
        ['fd99::15', '22 ssh'],
      ],
    )
    t.ok(found.every(({ mac }) => mac !== null))
    t.match(rows.find(({ address }) => address === '10.9.1.11')?.ports, [
      { product: 'nginx', version: '1.22.1', title: 'Cam', is_encrypted: false },
    ])
    t.equal(printed, 0, 'a printer gets nothing to print')
    t.strictSame(
      lines.filter(({ warning }) => warning !== undefined),
      [],
    )

    await t.test('without a scope no packet leaves, and the answer says what to add', async t => {
      const outside = await scan([])
      t.strictSame(
        outside.flatMap(({ row }) => row ?? []).filter(({ is_own }) => !is_own),
        [],
      )
      t.match(
        outside.filter(({ warning }) => warning !== undefined),
        [{ warning: 'out_of_scope', message: /shoal discover scope add 10\.9\.1\.0\/24/ }],
      )
    })
  },
)

t.test(
  'a host that answers on every port shows the services that speak for themselves alone',
  { skip: namespacesMissing || programMissing('nft') },
  async t => {
    await using lab = new NetworkLab()
    lab.addHost('scanner', '10.9.2.1/24')
    const openTarpit = async (name: string, address: string, banner = '', ssh = banner) => {
      lab.addHost(name, `${address}/24`)
      await lab.run(name, 'nft', [EVERY_PORT])
      for (const [port, text] of [
        ['7', banner],
        ['22', ssh],
      ]) {
        const child = lab.start(name, process.execPath, ['-e', SERVER, '--', `${port}`, `${text}`])
        await waitForLine(child, /ready/)
      }
    }
    await openTarpit('silent', '10.9.2.11')
    await openTarpit('parrot', '10.9.2.12', 'SSH-2.0-x')
    await openTarpit('shell', '10.9.2.13', '', 'SSH-2.0-OpenSSH_9.2p1')
    const order = JSON.stringify({ scope: ['10.9.2.8/29'] })
    const lines = (await lab.runScript('scanner', 'lab-scan.ts', 'host-scan', order)) as Line[]
    const rows = lines.flatMap(({ row }) => row ?? []).filter(({ is_own }) => !is_own)
    t.strictSame(
      rows
        .map(({ address, ports, answers_every_port }) => [
          ...[address, answers_every_port],
          ...ports.map(each => `${each.port} ${each.name}`),
        ])
        .sort(),
      [
        ['10.9.2.11', true],
        ['10.9.2.12', true],
        ['10.9.2.13', true, '22 ssh'],
      ],
    )
    const warnings = lines.flatMap(({ message }) => message ?? [])
    t.equal(warnings.filter(text => /answers on every port/.test(text)).length, 3)
  },
)

t.test('a banner names its protocol, and a silent port stays unknown', async t => {
  for (const [banner, name, product, version] of [
    ['SSH-2.0-OpenSSH_9.2p1 Debian-2', 'ssh', 'OpenSSH', '9.2p1'],
    ['SSH-2.0-Go', 'ssh', 'Go', null],
    ['RFB 003.008', 'vnc', null, null],
    ['220 (vsFTPd 3.0.3) FTP', 'ftp', null, null],
    ['220 mail.example ESMTP Postfix', 'smtp', null, null],
    ['220 hello', 'unknown', null, null],
    ['', 'unknown', null, null],
  ] as const)
    t.match(nameBanner(22, banner), { port: 22, name, product, version }, banner)
})
