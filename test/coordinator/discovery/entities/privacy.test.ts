import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { EXPORT_FORMATS } from '../../../../coordinator/discovery/entities/export-formats.ts'
import { FindingsInbox } from '../../../../coordinator/discovery/entities/findings-inbox.ts'
import { openEntities } from '../../../../coordinator/discovery/entities/open-entities.ts'
import { AutoRunUses } from '../../../../coordinator/discovery/modules/auto-run-uses.ts'
import { ModuleResults } from '../../../../coordinator/discovery/modules/module-results.ts'
import { Budgets } from '../../../../coordinator/kernel/budgets/budgets.ts'
import { EventLog } from '../../../../coordinator/kernel/events/event-log.ts'
import { createDiscoveryMetrics } from '../../../../coordinator/surfaces/metrics/discovery-metrics.ts'
import { concealRow, concealText } from '../../../../discovery/entities/conceal-row.ts'
import { Pseudonyms } from '../../../../discovery/entities/pseudonyms.ts'
import { DISCOVERY_MODULES } from '../../../../discovery/modules.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { config } from '../../../support/app.ts'
import { TEST_PSEUDONYMS } from '../../../support/pseudonyms.ts'
import { bleRow, mapRow, mdnsRow, snmpRow, wifiRow } from '../../../support/scan-rows.ts'
import { secretsOf } from '../../../support/secrets.ts'
import { BY, notInFiles, temporaryFolder, testStore } from '../../kernel/store/temporary.ts'

/** Addresses of a phone, a watch, a hotspot and a tablet. */
const PHONE = 'da:1b:2c:3d:4e:5f'
const WATCH = 'f4:f5:d8:aa:bb:cc'
const HOTSPOT = '9e:11:22:33:44:55'
const TABLET = '6a:77:88:99:aa:0b'
const PERSONAL = [PHONE, WATCH, HOTSPOT, TABLET]
const SWITCH = '3c:52:82:00:00:01'

const rowsOfRun = (minute: number) => ({
  'network-map': [
    mapRow({ address: '10.0.0.7', mac: PHONE }),
    mapRow({ address: 'fe80::d81b:2cff:fe3d:4e5f', mac: PHONE }),
    mapRow({ address: '10.0.0.1', mac: SWITCH, is_gateway: true }),
  ],
  'mdns-scan': [
    mdnsRow({
      instance: `${TABLET}@fe80::6877:88ff:fe99:aa0b`,
      host: 'annas-6a778899aa0b.local',
      addresses: ['10.0.0.8'],
      macs: [TABLET],
      txt: { deviceid: TABLET.toUpperCase(), at: String(minute) },
      device_id: `airplay:${TABLET}`,
    }),
  ],
  'ble-scan': [bleRow({ address: WATCH, name: `watch ${WATCH.replaceAll(':', '')}` })],
  'wifi-scan': [wifiRow({ bssid: HOTSPOT, ssid: 'annas hotspot' })],
  'snmp-discover': [
    snmpRow({
      ip: '10.0.0.1',
      interfaces: [SWITCH],
      stations: [PHONE, '02:42:ac:11:00:02'],
      chassis: ['da1b.2c3d.4e5f'],
    }),
  ],
})

/** A store with the entities and the receiver of findings, without anything else. */
const openScene = async (t: Test) => {
  const folder = await temporaryFolder(t)
  const store = await testStore(folder)
  const logs: string[] = []
  const write = (line: string): void => void logs.push(line)
  const logger = pino({ level: 'trace' }, { write })
  const now = Date.now
  const events = await EventLog.open({
    runtime: systemRuntime,
    store,
    source: '/shoal/a',
    kept: 100,
    logger,
    now,
  })
  const secrets = await secretsOf(store, folder)
  const leaderWork = { every: () => {} }
  const budgets = new Budgets(config().limits)
  const metrics = { discovery: createDiscoveryMetrics() }
  const opened = await openEntities({
    runtime: systemRuntime,
    ...{ store, events, secrets, leaderWork, budgets, metrics, now, logger },
  } as never)
  const results = new ModuleResults(store.records)
  const inbox = new FindingsInbox({
    modules: DISCOVERY_MODULES,
    results,
    sink: opened.findingsSink,
    pseudonyms: opened.pseudonyms,
    uses: new AutoRunUses(now),
    ...{ budgets, metrics, now, nowMs: now, logger },
  })
  const send = (module: string, rows: readonly object[], run_id: string): Promise<void> =>
    inbox.onFindings('cell_a', {
      module,
      run_id,
      part: 0,
      started_at: now(),
      input_hash: 'h',
      rows,
      end: { outcome: 'complete', reason: `${PHONE} did not answer` },
    } as never)
  return { folder, store, events, opened, results, inbox, send, logs }
}

/** Contents of all files of a folder, as one byte for each character. */
const readFiles = async (folder: string): Promise<Map<string, string>> => {
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = files.filter(each => each.isFile()).map(each => join(each.parentPath, each.name))
  const texts = paths.map(async path => [path, await readFile(path, 'latin1')] as const)
  return new Map(await Promise.all(texts))
}

t.test('a run leaves no personal MAC address in store, logs or exports', async t => {
  const { folder, store, events, opened, results, inbox, send, logs } = await openScene(t)
  const { entityQuery } = opened.views
  for (let run = 0; run < 3; run++)
    for (const [module, rows] of Object.entries(rowsOfRun(run))) await send(module, rows, `r${run}`)
  await inbox[Symbol.asyncDispose]()
  const { entities } = await entityQuery.page({ limit: 50 })
  const shown: string[] = []
  for (const format of EXPORT_FORMATS)
    for await (const text of opened.views.exportEntities({ format, filter: {}, keyId: undefined }))
      shown.push(text)
  const kept = await Promise.all(
    Object.keys(rowsOfRun(0)).map(module => results.readLast(module, undefined)),
  )
  const read = JSON.stringify([await entityQuery.deltas({ limit: 500 }), events.read(0), kept])
  await t.test('what is read', async t => {
    t.notMatch(read, patternOf(PERSONAL))
    t.notMatch(shown.join('\n'), patternOf(PERSONAL))
    t.notMatch(logs.join('\n'), patternOf(PERSONAL))
    t.match(shown.join('\n'), SWITCH, 'infrastructure keeps its address')
  })
  await t.test('devices are known again by their keyed hash', async t => {
    const hash = opened.pseudonyms.hashMac(PHONE)
    const found = entities.filter(({ fields }) =>
      JSON.stringify(fields.mac_addresses)?.includes(hash),
    )
    t.equal(found.length, 1)
    t.match(found[0]?.fields.ip_addresses, { value: ['10.0.0.7', /^fe80::/] })
    t.ok(entities.some(({ keys }) => keys.some(({ kind }) => kind === 'ble_public_address')))
  })
  await events.close()
  await store.close()
  await t.test('files', { skip: notInFiles }, async t => {
    for (const [path, text] of await readFiles(folder))
      t.notOk(patternOf(PERSONAL).test(text), path)
  })
})

/** Matches the addresses in any of their forms. */
const patternOf = (macs: readonly string[]): RegExp =>
  new RegExp(macs.map(mac => mac.split(':').join('[:.-]?')).join('|'), 'i')

t.test('an erasure reads what lookups of the coordinator have stored', async t => {
  const { store, opened, results, inbox, events, send } = await openScene(t)
  const { entityQuery, entityAdmin } = opened.views
  await send('network-map', [mapRow({ address: '10.0.0.77', mac: PHONE })], 'r1')
  const server = {
    ...{ id: '42', kind: 'server', name: 'cell-1', status: 'running', region: null },
    ...{ created_at: null, ipv4: ['198.51.100.7'], ipv6: [], private_ips: [], cpu_cores: 2 },
    ...{ memory_bytes: 1, disk_bytes: 1, labels: {}, monthly_cost_eur: 4 },
  }
  const totals = { servers: 1, running: 1, monthly_cost_eur: 4 }
  const data = {
    provider: 'hetzner',
    configured: true,
    region_count: 1,
    resources: [server],
    totals,
  }
  await results.keep({
    ...{ module: 'cloud-discover', runId: 'c1', part: 0, startedAt: 1, outcome: 'complete' },
    ...{ cellId: '', rows: [{ data }], takenAt: 1, elapsedMs: 1, reason: null },
    notes: { warnings: [], sources: [] },
  } as never)
  const { entities } = await entityQuery.page({ limit: 9 })
  const id = entities[0]?.entity_id ?? ''
  await entityAdmin.erase(id, BY)
  t.equal(await entityQuery.find(id), undefined)
  t.ok(await results.readLast('cloud-discover', ''), 'a result without the device stays')
  await inbox[Symbol.asyncDispose]()
  await events.close()
  await store.close()
})

t.test('an erased device is in no table, event, pin or file', async t => {
  const { folder, store, events, opened, results, inbox, send } = await openScene(t)
  const { entityQuery, entityAdmin } = opened.views
  const hash = opened.pseudonyms.hashMac(PHONE)
  const phone = { address: '10.0.0.77', mac: PHONE }
  const laptop = { address: '10.0.0.78', mac: TABLET }
  const erased = [hash, opened.pseudonyms.hashMac(TABLET), 'annas-phone', 'the phone of anna']
  // its name changes often, so that pages of the files are written anew again and again
  for (let run = 0; run < 20; run++) {
    await send('network-map', [mapRow(phone), mapRow(laptop), mapRow({ mac: SWITCH })], `r${run}`)
    const named = { host: `annas-phone-${run}.local`, instance: `annas-phone ${run}` }
    const announced = mdnsRow({ ...named, addresses: [phone.address], macs: [PHONE] })
    await send('mdns-scan', [announced], `r${run}`)
    const neighbours = { stations: [PHONE], chassis: [`annas-phone-${run}`] }
    await send('snmp-discover', [snmpRow({ interfaces: [SWITCH], ...neighbours })], `r${run}`)
  }
  const tv = { instance: `tv of ${PHONE}`, host: 'tv.local', macs: ['3c:52:82:00:00:02'] }
  await send('mdns-scan', [mdnsRow({ ...tv, addresses: ['10.0.0.79'] })], 'tv')
  const find = async (mac: string): Promise<string> => {
    const { entities } = await entityQuery.page({ limit: 50 })
    const found = entities.find(({ fields }) =>
      (fields.mac_addresses as { value: string[] } | undefined)?.value.includes(mac),
    )
    return found?.entity_id ?? ''
  }
  const id = await find(hash)
  await entityAdmin.setValues(id, { name: 'the phone of anna' }, 'person_a')
  await entityAdmin.merge(id, await find(opened.pseudonyms.hashMac(TABLET)), 'person_a')
  const merged = await find(hash)
  await entityAdmin.erase(merged, BY)
  t.equal(await entityQuery.find(merged), undefined)
  t.ok(await find(SWITCH), 'others stay')
  await send('network-map', [mapRow(phone), mapRow(laptop)], 'r19')
  t.notOk(await find(hash), 'a part that was stored before and comes again brings nothing back')
  const { read: ledger } = store.ledger
  const words = await ledger.selectFrom('discovery_entity_words').selectAll().execute()
  const sources = await ledger.selectFrom('discovery_entity_sources').selectAll().execute()
  t.notOk([...words, ...sources].some(({ entity_id }) => [merged, id].includes(entity_id)))
  const kept = ['network-map', 'mdns-scan', 'snmp-discover'].map(id =>
    results.readLast(id, undefined),
  )
  const [pins, deltas] = [await entityAdmin.listPins(9), await entityQuery.deltas({ limit: 999 })]
  const read = JSON.stringify([await Promise.all(kept), words, pins, deltas, events.read(0)])
  for (const text of erased) t.notMatch(read, text)
  t.notOk(deltas.some(({ other_id }) => other_id === merged || other_id === id))
  const audit = await store.ledger.read.selectFrom('audit').selectAll().execute()
  t.match(audit.at(-1), { action: 'discovery.erase', subject: merged, actor: 'test' })
  await t.test('files', { skip: notInFiles }, async t => {
    for (const [path, text] of await readFiles(folder))
      for (const each of [...erased, phone.address])
        t.notOk(text.includes(each), `${path}: ${each}`)
  })
  await inbox[Symbol.asyncDispose]()
  await events.close()
  await store.close()
})

t.test('the address alone decides what is personal', async t => {
  for (const [text, isHidden] of [
    [PHONE, true],
    [PHONE.toUpperCase().replaceAll(':', '-'), true],
    [`phone-${PHONE.replaceAll(':', '')}.local`, true],
    ['2001:db8::d81b:2cff:fe3d:4e5f', true],
    [SWITCH, false],
    ['52:54:00:12:34:56', false],
    ['02:42:ac:11:00:02', false],
    ['00:00:5e:00:01:0a', false],
    ['2001:db8::3e52:82ff:fe00:1', false],
    ['AA:BB:CC:DD:EE:FF:00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD', false],
    ['123456789012', false],
    ['hmac:da1b2c3d4e5f', false],
  ] as const)
    t.equal(concealText(text, TEST_PSEUDONYMS) !== text, isHidden, text)
})

t.test('a machine of the operator keeps its own address and is matched by the hash', async t => {
  const own = concealRow('network-map', mapRow({ kind: 'own', mac: PHONE }), TEST_PSEUDONYMS)
  t.match(own, { mac: PHONE })
  const bridge = snmpRow({ interfaces: [TABLET], stations: [TABLET, PHONE] })
  const text = JSON.stringify(concealRow('snmp-discover', bridge, TEST_PSEUDONYMS))
  t.match(text, TABLET)
  t.notMatch(text, PHONE)
})

t.test('the secret decides what a hash is, and all coordinators have the same', async t => {
  const other = new Pseudonyms(Buffer.alloc(32, 8))
  t.not(other.hashMac(PHONE), TEST_PSEUDONYMS.hashMac(PHONE))
  t.not(other.hashTrace('x'), TEST_PSEUDONYMS.hashTrace('x'))
  t.throws(() => new Pseudonyms(Buffer.alloc(8)), RangeError)
  const folder = await temporaryFolder(t)
  const stores = [await testStore(folder), await testStore(folder)]
  t.teardown(() => Promise.all(stores.map(each => each.close())))
  const hashes: string[] = []
  for (const each of stores) {
    const secrets = await secretsOf(each, folder)
    const parts = {
      store: each,
      events: { subscribe: () => {} },
      secrets,
      leaderWork: { every: () => {} },
      now: Date.now,
    }
    hashes.push((await openEntities(parts as never)).pseudonyms.hashMac(PHONE))
  }
  t.equal(hashes[0], hashes[1])
})
