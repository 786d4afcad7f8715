import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { writeDeviceConfig } from '../../bin/up/demo-devices.ts'
import { DaemonConfig } from '../../daemon/config.ts'
import { HttpLinkConfig } from '../../devices/links/http/config.ts'
import { createHttpProfile } from '../../devices/links/http/http-generic.ts'
import { HttpLink } from '../../devices/links/http/http-link.ts'
import { createEnd, createLinkContext } from '../support/link-context.ts'
import { waitUntil } from '../support/wait-until.ts'

const root = resolve(import.meta.dirname, '..', '..')
const COPIED = ['coordinator', 'shared', 'discovery', 'devices', 'daemon', 'test/support']

/** Uses what the diffs add: over HTTP, by the program of the module, and in a store. */
const USE = `
import { addPerson, getPerson } from './coordinator/access/people/people.ts'
import { personTable } from './coordinator/access/people/person.table.ts'
import { createTenant } from './coordinator/access/people/tenants.ts'
import { newCell } from './coordinator/fleet/cells/cell.ts'
import { loadRun } from './discovery/load.ts'
import { DISCOVERY_MODULES } from './discovery/modules.ts'
import { openStore } from './coordinator/kernel/store/store.ts'
import { appWith, views } from './test/support/app.ts'
import { createScanContext, listRows } from './test/support/scan-context.ts'

const idle = { ...newCell('cell-1', 1), presence: 'ready', sample: { engines: [{ slots_busy: 0 }] } }
const busy = { ...newCell('cell-2', 1), presence: 'ready', sample: { engines: [{ slots_busy: 2 }] } }
const app = await appWith({ views: views({ fleet: { cells: () => [idle, busy] } }) })
const tier = await app.inject({ url: '/v1/tiers/pro' })
const skill = await app.inject({
  method: 'POST',
  url: '/v1/skills/idle-cells',
  headers: { authorization: 'Bearer admin-key', 'content-type': 'application/json' },
  payload: '{}',
})
await app.close()
const module = DISCOVERY_MODULES.find(({ id }) => id === 'power-supplies')
const run = await loadRun(module)
const found = await listRows(module, run({}, createScanContext({}))).catch(error => error.name)
const store = await openStore(process.argv[2], { pollMilliseconds: 0 })
const { ledger } = store
const by = { actor: 'test' }
await createTenant(ledger, { id: 'acme', name: 'Acme' }, by)
await ledger.sealed.write(trx => addPerson(trx, { id: 'ada', tenantId: 'acme', name: 'Ada' }, by, 1))
const before = await getPerson(ledger, 'ada', 'all')
await ledger.free.write(trx =>
  trx.updateTable('persons').set(personTable.writeSome({ email: 'ada@example.org' })).execute(),
)
const { email } = await getPerson(ledger, 'ada', 'all')
await store.close()
const column = { before: before.email ?? null, email }
console.log(JSON.stringify({ column, tier: tier.json(), skill: skill.json(), domain: module.domain, found }))
`

t.test('each diff of CONTRIBUTING.md adds by itself what it says', async t => {
  const copy = mkdtempSync(join(tmpdir(), 'shoal-contributing-'))
  t.teardown(() => rmSync(copy, { recursive: true, force: true }))
  for (const folder of COPIED) cpSync(join(root, folder), join(copy, folder), { recursive: true })
  for (const file of ['package.json', 'models/bundled.ts', 'models/bundled.json'])
    cpSync(join(root, file), join(copy, file))
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  const config = await writeDeviceConfig(copy)

  const text = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8')
  const diffs = [...text.matchAll(/^```diff\n(.*?)^```/gms)].map(([, diff = '']) => diff)
  t.equal(diffs.length, 5)
  for (const input of diffs) execFileSync('git', ['apply', '-'], { cwd: copy, input })

  const script = join(copy, 'use.ts')
  writeFileSync(script, USE)
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [script, mkdtempSync(join(copy, 'state-'))],
    {
      cwd: copy,
      encoding: 'utf8',
    },
  )
  t.equal(stderr, '')
  const used = JSON.parse(stdout)
  t.strictSame(used.column, { before: null, email: 'ada@example.org' })
  t.strictSame(used.tier, { price_eur_per_month: 29, requests_per_month: 50_000 })
  t.strictSame(used.skill, {
    ...{ data_state: 'live', unknown: [], to_load: null },
    cell_ids: ['cell-1'],
  })
  t.equal(used.domain, 'infrastructure')
  t.ok(Array.isArray(used.found) || used.found === 'NotPossibleHere', used.found)

  const { devices } = DaemonConfig.parse(parse(readFileSync(config, 'utf8')))
  const kiln = HttpLinkConfig.parse(devices.links.find(link => link.kind === 'http'))
  const { heat } = createHttpProfile(kiln).verbs
  t.equal(heat?.hazard, 'unsafe')
  t.strictSame(
    heat?.plan({ celsius: 200 }, { device_id: 'dev_1', options: {}, envelope: {} }).operations,
    [{ method: 'PUT', url: 'http://127.0.0.1:8080/target', body: { celsius: 200 } }],
  )

  const server = createServer((_request, response) => response.end('{"heater":{"celsius":180}}'))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const link = new HttpLink({ ...kiln, url: `http://127.0.0.1:${port}` }, createLinkContext(t))
  link.start(createEnd(t))
  await waitUntil('the kiln is read', () => link.list()[0]?.available)
  const { readings } = link.readState(link.list()[0]?.deviceId ?? '') ?? {}
  t.match(readings, { temperature_celsius: { value: 180 } })
})
