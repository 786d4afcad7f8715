import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import {
  findBluetoothCompany,
  findBluetoothService,
} from '../../../discovery/entities/vendors/bluetooth-names.ts'
import { findEnterpriseName } from '../../../discovery/entities/vendors/enterprise-name.ts'
import { vendorOfMac } from '../../../discovery/entities/vendors/vendor-of-mac.ts'

const root = resolve(import.meta.dirname, '../../..')
const FOLDER = join(root, 'discovery/entities/vendors')

t.test('a MAC address has the vendor of its longest assigned prefix', async t => {
  for (const [mac, vendor] of [
    ['b8:27:eb:00:00:01', 'Raspberry Pi Foundation'],
    ['24:0a:c4:ff:ff:ff', 'Espressif Inc.'],
    ['10:06:48:1f:ff:ff', 'KYTRONICS'],
    ['00:1b:c5:00:2f:ff', 'GORAMO - Janusz Gorecki'],
    ['10:06:48:ff:ff:ff', undefined],
    ['52:54:00:12:34:56', undefined],
  ] as const)
    t.equal(vendorOfMac(mac), vendor, mac)
})

t.test('companies, services and enterprises are found by their numbers', async t => {
  t.match(findBluetoothCompany(0x004c), /^Apple/)
  t.match(findBluetoothCompany(0x0059), /^Nordic Semiconductor/)
  t.equal(findBluetoothCompany(0xfffe), null)
  t.equal(findBluetoothService('180f'), 'Battery Service')
  t.equal(findBluetoothService('feaa'), 'Eddystone')
  t.equal(findBluetoothService('0000'), null)
  t.equal(findEnterpriseName(9), 'Cisco')
  t.equal(findEnterpriseName(14988), 'MikroTik')
  t.equal(findEnterpriseName(4_000_000_000), null)
  t.equal(findEnterpriseName(null), null)
})

t.test('each table is whole, sorted, and names its authority, source and count', async t => {
  const LEAST = {
    'oui.tsv': 50_000,
    'bluetooth-companies.tsv': 3900,
    'bluetooth-services.tsv': 120,
    'enterprises.tsv': 60_000,
  }
  t.strictSame(
    readdirSync(FOLDER).filter(file => file.endsWith('.tsv')),
    Object.keys(LEAST).toSorted(),
  )
  for (const [file, least] of Object.entries(LEAST)) {
    const lines = readFileSync(join(FOLDER, file), 'utf8').trimEnd().split('\n')
    const rows = lines.filter(line => !line.startsWith('#'))
    t.ok(rows.length >= least, `${file}: ${rows.length} entries`)
    t.match(
      lines.slice(0, 3).join('\n'),
      new RegExp(`${rows.length} entries.*Authority.*Source`, 's'),
    )
    t.ok(
      rows.every(row => /^[0-9a-f]+\t\S.{0,127}$/u.test(row)),
      `${file}: each line is an entry`,
    )
    const keys = rows.map(row => Buffer.from(row))
    t.ok(
      keys.every((key, at) => at === 0 || Buffer.compare(keys[at - 1] as Buffer, key) < 0),
      `${file}: sorted`,
    )
  }
})

const generate = (...args: string[]) =>
  promisify(execFile)(process.execPath, [join(root, 'bin/vendors.ts'), ...args])

t.test('an operator writes newer tables from the files of the authorities', async t => {
  const folder = t.testdir({
    'oui.csv':
      'Registry,Assignment,Organization Name,Organization Address\r\n' +
      'MA-L,AABBCC,"Say ""Hi"", Inc.",1 Road\r\nMA-L,AABBCD,Private,\r\nMA-L,AABBCE,IEEE Registration Authority,\r\n',
    'mam.csv':
      'Registry,Assignment,Organization Name,Organization Address\nMA-M,AABBCE1,Small Ltd,2 Road\n',
    'company_identifiers.yaml':
      "company_identifiers:\n  - value: 0x1051\n    name: 'New Company'\n  - value: 0x0001\n    name: 'Old Company'\n",
    'member_uuids.yaml': 'uuids:\n - uuid: 0xFCB2\n   name: A Member\n   id: org.example\n',
    'enterprise-numbers':
      'PRIVATE ENTERPRISE NUMBERS\n\n0\n  Reserved\n    IANA\n      iana&iana.org\n' +
      "7\n  Acme\t # formerly 'Acne'\n    A Person\n      person&acme.example\n",
  })
  const at = (name: string) => join(folder, name)
  const oui = ['--oui', at('oui.csv'), '--oui', at('mam.csv')]
  const rest = [
    '--companies',
    at('company_identifiers.yaml'),
    '--services',
    at('member_uuids.yaml'),
  ]
  await generate('--out', folder, ...oui, ...rest, '--enterprises', at('enterprise-numbers'))
  const readRows = async (name: string) =>
    (await readFile(at(name), 'utf8')).split('\n').filter(line => line && !line.startsWith('#'))
  t.strictSame(await readRows('oui.tsv'), ['aabbcc\tSay "Hi", Inc.', 'aabbce1\tSmall Ltd'])
  t.strictSame(await readRows('bluetooth-companies.tsv'), [
    '0001\tOld Company',
    '1051\tNew Company',
  ])
  t.strictSame(await readRows('bluetooth-services.tsv'), ['fcb2\tA Member'])
  t.strictSame(await readRows('enterprises.tsv'), ['7\tAcme'])
})

t.test('a file without entries is refused, and the table stays as it is', async t => {
  const folder = t.testdir({ 'oui.csv': '<html>Moved</html>', 'oui.tsv': 'aabbcc\tAcme\n' })
  await writeFile(join(folder, 'empty'), '')
  for (const name of ['oui.csv', 'empty'])
    await t.rejects(generate('--out', folder, '--oui', join(folder, name)), { code: 64 })
  t.equal(await readFile(join(folder, 'oui.tsv'), 'utf8'), 'aabbcc\tAcme\n')
  await t.rejects(generate(), { message: /no table named/ })
})
