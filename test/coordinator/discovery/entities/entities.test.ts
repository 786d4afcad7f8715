import assert from 'node:assert/strict'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import * as z from 'zod'
import { DELTA_EVENT } from '../../../../coordinator/discovery/entities/deltas.ts'
import { EntityAdmin } from '../../../../coordinator/discovery/entities/entity-admin.ts'
import { listSources } from '../../../../coordinator/discovery/entities/entity-index.ts'
import { EntityQuery } from '../../../../coordinator/discovery/entities/entity-query.ts'
import { EntityRecorder } from '../../../../coordinator/discovery/entities/entity-recorder.ts'
import {
  type EntityLimits,
  tidyEntities,
} from '../../../../coordinator/discovery/entities/entity-upkeep.ts'
import { listEntityWords } from '../../../../coordinator/discovery/entities/entity-words.ts'
import { readTracesOf } from '../../../../coordinator/discovery/entities/evidence-rows.ts'
import type { EvidenceBounds } from '../../../../coordinator/discovery/entities/stored-evidence.ts'
import { CellRates } from '../../../../coordinator/discovery/modules/cell-rates.ts'
import { ModuleObserver } from '../../../../coordinator/discovery/modules/module-observer.ts'
import { ModuleResults } from '../../../../coordinator/discovery/modules/module-results.ts'
import { createToken } from '../../../../coordinator/fleet/enrolment/join-tokens.ts'
import type { EventDraft } from '../../../../coordinator/kernel/events/bus.ts'
import {
  listConnections,
  listSiteAddresses,
} from '../../../../discovery/entities/evidence-graph.ts'
import { type DiscoveryModule, defineScan } from '../../../../discovery/module.ts'
import type { Sighting } from '../../../../discovery/sighting.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import type { ModuleRow } from '../../../../shared/wire/findings.ts'
import { TEST_PSEUDONYMS } from '../../../support/pseudonyms.ts'
import { BY, temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

const KEY_ALARM_EVENT = 'shoal.discovery.key_alarm'

const DAY_MS = 86_400_000
/** Sequences of random steps. */
const RUNS = Number(process.env.SHOAL_FUZZ_ROUNDS ?? 3)
const LIMITS: EntityLimits = {
  maxEntities: 100,
  keepTracesMs: 30 * DAY_MS,
  keepDeltasMs: 90 * DAY_MS,
  maxDeltas: 1000,
}

/** A module whose rows are sightings. */
const scanModule = (id: string): DiscoveryModule => ({
  ...defineScan({
    id,
    name: id,
    description: 'A module of the test.',
    tags: [],
    access: 'operator',
    input: z.strictObject({}),
    examples: [{}],
    deadlineSeconds: 1,
    reach: 'lan',
    row: z.object({}),
    observe: row => [row as unknown as Sighting],
  }),
  domain: 'network',
})

/** Coordinators that share one store, and a clock that the test moves. */
const openScene = async (t: Test, coordinators = 1) => {
  const folder = await temporaryFolder(t)
  const clock = { now: Date.UTC(2026, 0, 5) }
  const events: EventDraft[] = []
  const uncompared: number[] = []
  const observer = new ModuleObserver(['network-map', 'mdns-scan'].map(scanModule), TEST_PSEUDONYMS)
  const now = (): number => clock.now
  const openOne = async (limit = 10_000, bounds?: EvidenceBounds) => {
    const { ledger, records } = await temporaryStore(t, folder)
    const recorder = new EntityRecorder({
      ledger,
      events: { addWithin: async (_trx, drafts) => void events.push(...drafts) },
      observer,
      rates: new CellRates(limit),
      pseudonyms: TEST_PSEUDONYMS,
      metrics: { discovery: { countCut: () => void uncompared.push(1) } },
      ...(bounds && { bounds }),
      now,
    })
    const { publish } = recorder
    const admin = new EntityAdmin({
      ledger,
      records,
      results: new ModuleResults(records),
      observer,
      events: { reload: async () => {} },
      publish,
      pseudonyms: TEST_PSEUDONYMS,
      logger: { warn: () => {} },
      now,
    })
    const tidy = (limits: Partial<EntityLimits> = {}) =>
      tidyEntities(ledger, { publish, limits: { ...LIMITS, ...limits }, now: clock.now })
    return {
      ledger,
      recorder,
      admin,
      tidy,
      query: new EntityQuery(ledger.read, now, { warn: () => {} }),
    }
  }
  const all = await Promise.all(Array.from({ length: coordinators }, () => openOne()))
  const [first] = all
  if (first === undefined) throw new TypeError('a scene has a coordinator')
  let runs = 0
  /** Records a complete run of a module and moves the clock by a minute. */
  const run = async (sightings: Sighting[], module = 'network-map', by = first): Promise<void> => {
    clock.now += 60_000
    runs++
    await by.recorder.record(recordOf(sightings, { module, runId: `run${runs}`, at: clock.now }))
  }
  return { ...first, all, clock, events, uncompared, run, openOne }
}

type Scene = Awaited<ReturnType<typeof openScene>>

const recordOf = (
  sightings: readonly Sighting[],
  { module, runId, at }: { module: string; runId: string; at: number },
) => ({
  cellId: 'cell_a',
  module,
  runId,
  part: 0,
  inputHash: 'h',
  startedAt: at,
  rows: sightings as unknown as ModuleRow[],
  outcome: 'complete' as const,
})

const host = (n: number, facts: Sighting['facts'] = {}): Sighting => ({
  keys: [
    { kind: 'mac', value: `b8:27:eb:00:00:0${n}` },
    { kind: 'ip', value: `10.0.0.${n}` },
  ],
  facts: { ip_addresses: [`10.0.0.${n}`], ...facts },
})

t.test('sightings become entities whose history can be read', async t => {
  const { run, query, events } = await openScene(t)
  await run([host(1, { name: 'one' }), host(2)])
  await run([host(1, { name: 'uno' }), host(2)])
  await run([{ keys: [{ kind: 'ip', value: '10.0.0.1' }], facts: { model: 'X' } }], 'mdns-scan')
  const { entities, next } = await query.page({ limit: 10 })
  t.equal(next, null)
  t.equal(entities.length, 2, 'a sighting at an address is of its holder')
  t.match(entities[0], {
    name: 'uno',
    is_present: true,
    fields: { name: { value: 'uno', source: 'network-map' }, model: { source: 'mdns-scan' } },
    risk_level: 'low',
  })
  const deltas = await query.deltas({ limit: 100 })
  t.match(
    deltas.map(({ kind, field }) => [kind, field]),
    [
      ['appeared', null],
      ['appeared', null],
      ['changed', 'name'],
      ['changed', 'model'],
    ],
  )
  t.strictSame(
    deltas.map(({ seq }) => seq),
    [1, 2, 3, 4],
  )
  const hour = Date.UTC(2026, 0, 5)
  t.match(await query.countByHour(hour - 3_600_000, hour + 3_600_000), [
    { deltas: {} },
    { deltas: { appeared: 2, changed: 2 } },
  ])
  t.strictSame(await query.countBy('is_present'), { 1: 2 })
  t.ok(events.every(({ type }) => type === DELTA_EVENT))
  t.match(events.at(-1)?.data, {
    first_seq: 4,
    last_seq: 4,
    count: 1,
    deltas: [{ field: 'model' }],
  })
})

t.test('pages and filters bound what is read', async t => {
  const { run, query } = await openScene(t)
  await run([host(1, { gateway: true }), host(2), host(3)])
  const first = await query.page({ limit: 2 })
  const second = await query.page({ limit: 2, after: first.next ?? '' })
  t.equal(new Set([...first.entities, ...second.entities].map(each => each.entity_id)).size, 3)
  t.equal(second.next, null)
  t.equal((await query.page({ device_type: 'router', limit: 5 })).entities.length, 1)
  t.equal((await query.page({ source: 'mdns-scan', limit: 5 })).entities.length, 0)
  t.equal(
    (await query.page({ source: 'network-map', risk_level: 'low', limit: 5 })).entities.length,
    3,
  )
})

t.test('a thing is absent after three complete runs without it', async t => {
  const { run, query, recorder, clock } = await openScene(t)
  await run([host(1), host(2)])
  for (let missed = 1; missed <= 2; missed++) await run([host(1)])
  t.equal((await query.page({ is_present: false, limit: 5 })).entities.length, 0)
  // a scanner that cannot see the thing says nothing about it, and a run counts once
  for (let n = 0; n < 5; n++) await run([], 'mdns-scan')
  const again = recordOf([host(1)], { module: 'network-map', runId: 'run3', at: clock.now })
  await recorder.record(again)
  t.equal((await query.page({ is_present: false, limit: 5 })).entities.length, 0)
  await run([host(1)])
  const [absent] = (await query.page({ is_present: false, limit: 5 })).entities
  t.equal(absent?.name, '10.0.0.2')
  await run([host(2)])
  const kinds = (await query.deltas({ limit: 50 })).map(({ kind }) => kind)
  t.strictSame(kinds, ['appeared', 'appeared', 'disappeared', 'appeared'])
  await run([{ ...host(2), is_gone: true }])
  t.equal(
    (await query.deltas({ limit: 50 })).at(-1)?.kind,
    'disappeared',
    'a goodbye counts at once',
  )
})

t.test('a run that arrives late adds what it saw and says nothing about the present', async t => {
  const { run, query, recorder, clock } = await openScene(t)
  await run([host(1, { name: 'old' }), host(2)])
  const late = clock.now + 1
  for (let n = 0; n < 3; n++) await run([host(1, { name: 'new' })])
  const before = await query.deltas({ limit: 50 })
  t.equal(before.at(-1)?.kind, 'disappeared')
  const found = recordOf([host(1, { name: 'old' }), host(2), host(3)], {
    ...{ module: 'network-map', runId: 'late', at: late },
  })
  t.equal(await recorder.record(found), 'late')
  t.equal(await recorder.record(found), 'late', 'it may come again')
  const after = await query.deltas({ limit: 50 })
  t.match(after.slice(before.length), [{ kind: 'appeared', name: '10.0.0.3' }])
  t.strictSame(await query.countBy('is_present'), { 0: 1, 1: 2 })
  const [first] = (await query.page({ limit: 5 })).entities
  t.match(first, { name: 'new', last_seen: new Date(clock.now).toISOString() })
  t.match(await query.listScanners(5), [{ runs: 4 }])
  for (let n = 0; n < 3; n++) await run([host(1)])
  t.strictSame(await query.countBy('is_present'), { 0: 2, 1: 1 }, 'it is missed like the others')
})

t.test('a run of which a part was lost counts nothing as missed', async t => {
  const { run, query, recorder, clock } = await openScene(t)
  await run([host(1), host(2)])
  const record = (runId: string, part: number, rows: Sighting[], isEnd: boolean) => {
    const found = recordOf(rows, { module: 'network-map', runId, at: clock.now })
    return recorder.record({ ...found, part, outcome: isEnd ? 'complete' : undefined })
  }
  for (let n = 0; n < 4; n++) {
    clock.now += 60_000
    t.equal(await record(`torn${n}`, 0, [host(1)], false), 'new')
    t.equal(await record(`torn${n}`, 0, [host(1)], false), 'stored')
    t.equal(await record(`torn${n}`, 2, [], true), 'new')
  }
  t.strictSame(await query.countBy('is_present'), { 1: 2 })
  t.match(await query.listScanners(5), [{ runs: 1 }])
})

t.test('operators merge, split and pin, and take it back', async t => {
  const { run, query, admin } = await openScene(t)
  await run([host(1), host(2)])
  const before = await query.page({ limit: 10 })
  const [a, b] = before.entities.map(({ entity_id }) => entity_id) as [string, string]
  const pin = await admin.merge(a, b, 'person_a')
  t.equal((await query.page({ limit: 10 })).entities.length, 1)
  t.equal((await query.find(a))?.entity_id, (await query.find(b))?.entity_id, 'the old id is found')
  await run([host(1), host(2)])
  t.equal((await query.page({ limit: 10 })).entities.length, 1, 'evidence does not undo it')
  await admin.unpin(pin)
  const after = await query.page({ limit: 10 })
  t.strictSame(
    after.entities.map(each => each.entity_id).toSorted(),
    [a, b].toSorted(),
    'both ids are back',
  )
  const merged = (await query.deltas({ limit: 50 })).map(({ kind }) => kind)
  t.ok(merged.includes('merged') && merged.includes('split'))
  await admin.setValues(a, { name: 'mine' }, 'person_a')
  t.match((await query.find(a))?.fields.name, { value: 'mine', source: 'operator' })
  await admin.setValues(a, { name: null }, 'person_a')
  t.not((await query.find(a))?.name, 'mine')
  await t.rejects(admin.split(a, ['mac=00:00:00:00:00:09'], 'p'), { code: 'invalid_request' })
  await t.rejects(admin.merge(a, 'ent_none', 'p'), { code: 'not_found' })
})

t.test('a stolen key is reported, listed at both things, and gone with one of them', async t => {
  const { run, query, admin, events } = await openScene(t)
  const engine = { kind: 'snmp_engine_id', value: '80001f888012345678' } as const
  const agent = (n: number): Sighting => ({
    keys: [engine, { kind: 'ip', value: `10.0.0.${n}` }],
    facts: {},
  })
  await run([host(1), host(2)])
  await run([agent(1), agent(2)], 'mdns-scan')
  await run([host(1), host(2)])
  await run([agent(1), agent(2)], 'mdns-scan')
  const { entities } = await query.page({ limit: 5 })
  t.equal(entities.length, 2)
  const ids = entities.map(({ entity_id }) => entity_id).toSorted()
  const alarm = { key: engine, state: 'quarantined', entity_ids: ids }
  for (const { key_alarms } of entities) t.match(key_alarms, [alarm])
  t.match(await query.listKeyAlarms(5), [alarm])
  const raised = events.filter(({ type }) => type === KEY_ALARM_EVENT)
  t.strictSame(
    raised.map(({ data }) => data),
    [alarm],
    'once',
  )
  await admin.erase(ids[0] ?? '', BY)
  t.strictSame(await query.listKeyAlarms(5), [])
})

t.test('an erased entity leaves nothing behind', async t => {
  const { run, query, admin } = await openScene(t)
  await run([host(1, { name: 'annas-phone' })])
  const [entity] = (await query.page({ limit: 1 })).entities
  await admin.erase(entity?.entity_id ?? '', BY)
  t.equal(await query.find(entity?.entity_id ?? ''), undefined)
  const deltas = await query.deltas({ limit: 10 })
  t.match(deltas, [{ kind: 'erased', name: null }])
  t.notMatch(JSON.stringify(deltas), 'annas')
})

t.test('what is old or too much is deleted', async t => {
  const { run, query, tidy, clock } = await openScene(t)
  await run([host(1), host(2), host(3)])
  await tidy({ maxEntities: 2 })
  t.equal((await query.page({ limit: 5 })).entities.length, 2)
  await tidy({ maxDeltas: 1 })
  t.equal((await query.deltas({ limit: 9 })).length, 1)
  clock.now += 25 * 3_600_000
  await tidy()
  const levels = (await query.page({ limit: 5 })).entities.map(({ risk_level }) => risk_level)
  t.strictSame(levels, ['none', 'none'], 'they are new no more')
  clock.now += 40 * DAY_MS
  await tidy()
  t.equal((await query.page({ limit: 5 })).entities.length, 0)
})

t.test('values of deltas and events are bounded, and lists keep what has changed', async t => {
  const { run, query, events } = await openScene(t)
  const names = Array.from(
    { length: 63 },
    (_, n) => `${String(n).padStart(3, '0')} ${'ü'.repeat(100)}`,
  )
  await run([host(1, { models: names, description: 'x' })])
  await run([host(1, { models: [...names, 'zzz'], description: '\u0001'.repeat(1000) })])
  const deltas = await query.deltas({ limit: 9 })
  t.match(
    deltas.find(({ field }) => field === 'models'),
    { before: [], after: ['zzz'], is_truncated: true },
  )
  const text = deltas.find(({ field }) => field === 'description')
  t.match(text, { before: 'x', is_truncated: true })
  t.ok(JSON.stringify(text?.after).length <= 2048)
  const many = Array.from({ length: 50 }, (_, n) => ({
    ...{ keys: [{ kind: 'serial' as const, value: `serial-${n}` }] },
    facts: { name: String(n), description: 'é'.repeat(1000) },
  }))
  await run(many)
  await run(many.map(each => ({ ...each, facts: { ...each.facts, description: 'other' } })))
  const { data } = events.at(-1) as EventDraft
  const { count, deltas: shown } = data as { count: number; deltas: unknown[] }
  t.equal(count, 50)
  t.ok(shown.length > 0 && Buffer.byteLength(JSON.stringify(shown)) <= 64 * 1024)
  t.ok(shown.length < 50)
})

t.test('a cell that invents entities loses its own when there are too many', async t => {
  const { recorder, query, tidy, clock } = await openScene(t)
  const report = async (cellId: string, runId: string, sightings: Sighting[]): Promise<void> => {
    clock.now += 1000
    const found = recordOf(sightings, { module: 'network-map', runId, at: clock.now })
    await recorder.record({ ...found, cellId })
  }
  const named = (n: number): Sighting => ({
    keys: [{ kind: 'ip', value: `10.1.0.${n}` }],
    facts: {},
  })
  await report('cell_a', 'honest', [host(1), host(2), host(3)])
  const serial: Sighting = { keys: [{ kind: 'serial', value: 'SN-48213377' }], facts: {} }
  await report('cell_b', 'first', [serial, named(1), named(2)])
  await report('cell_b', 'again', [named(1)])
  for (let n = 0; n < 5; n++) await report('cell_b', `made up ${n}`, [named(10 + n)])
  // what an honest cell found first stays its own
  await report('cell_b', 'copied', [host(1), host(2), host(3)])
  const { excess } = await tidy({ maxEntities: 5 })
  t.strictSame(excess, { holder: 'cell_b', entities: 6 })
  t.match(await tidy({ maxEntities: 5 }), { isDone: true })
  const names = (await query.page({ limit: 9 })).entities.map(({ name, keys }) => [
    name,
    keys[0]?.kind,
  ])
  t.strictSame(names.toSorted(), [
    ['10.0.0.1', 'mac'],
    ['10.0.0.2', 'mac'],
    ['10.0.0.3', 'mac'],
    ['10.1.0.1', 'ip'],
    ['sn-48213377', 'serial'],
  ])
})

const hosts = (count: number): Sighting[] =>
  Array.from({ length: count }, (_, n) => {
    const [high, low] = [n >> 8, n & 255].map(byte => byte.toString(16).padStart(2, '0'))
    return { keys: [{ kind: 'mac', value: `b8:27:eb:00:${high}:${low}` }], facts: {} }
  })

t.test('every entity is judged again once after its first day', async t => {
  const { run, query, tidy, clock } = await openScene(t)
  await run(hosts(600))
  const countNew = async (): Promise<number> => {
    const { entities } = await query.page({ limit: 1000 })
    return entities.filter(({ risk }) => risk.reasons.some(({ id }) => id === 'new_device')).length
  }
  t.equal(await countNew(), 600)
  clock.now += DAY_MS + 1
  t.match(await tidy({ maxDeltas: 10_000, maxEntities: 1000 }), { isDone: false })
  t.equal(await countNew(), 100)
  t.match(await tidy({ maxDeltas: 10_000, maxEntities: 1000 }), { isDone: true })
  t.equal(await countNew(), 0)
})

t.test('old deltas go in parts', async t => {
  const { run, query, tidy } = await openScene(t)
  await run(hosts(700))
  t.match(await tidy({ maxDeltas: 100, maxEntities: 1000 }), { isDone: false })
  t.equal((await query.deltas({ limit: 1000 })).length, 200)
  t.match(await tidy({ maxDeltas: 100, maxEntities: 1000 }), { isDone: true })
  t.equal((await query.deltas({ limit: 1000 })).length, 100)
})

t.test('scanners go with their cell and with the retention', async t => {
  const { run, query, tidy, clock, ledger } = await openScene(t)
  await run([host(1)])
  await run([host(1)], 'mdns-scan')
  clock.now += 20 * DAY_MS
  await run([host(1)])
  clock.now += 11 * DAY_MS
  await tidy()
  t.match(await query.listScanners(5), [{ module: 'network-map', runs: 2 }])
  const { token } = await createToken(ledger, { uses: 1, ttlMinutes: 1 }, BY)
  const cell = {
    ...{ id: 'cell_a', name: 'a', digest: 'd', renewed_at: 0, tags_json: '[]', epoch: 0 },
    ...{ token_id: token.id, enrolled_at: 0 },
  }
  await ledger.free.write(trx => trx.insertInto('cells').values(cell).execute())
  await tidy()
  t.equal((await query.listScanners(5)).length, 1)
  await ledger.free.write(trx => trx.updateTable('cells').set({ revoked_at: 1 }).execute())
  await tidy()
  t.strictSame(await query.listScanners(5), [])
  t.strictSame(await ledger.read.selectFrom('discovery_seen').selectAll().execute(), [])
})

t.test(
  'a host to which too much evidence belongs is not compared; others of its run are',
  async t => {
    const { openOne, ledger, query, uncompared, clock } = await openScene(t)
    const { recorder } = await openOne(10_000, { traces: 8, length: 1e6, links: 1000 })
    let runs = 0
    const run = (sightings: Sighting[]) => {
      clock.now += 60_000
      runs++
      const facts = { module: 'network-map', runId: `run${runs}`, at: clock.now }
      return recorder.record(recordOf(sightings, facts))
    }
    const at = (n: number, address: string): Sighting => ({
      keys: [
        { kind: 'mac', value: `b8:27:eb:00:00:0${n}` },
        { kind: 'ip', value: address },
      ],
      facts: {},
    })
    for (let n = 0; n < 8; n++) await run([at(1, `10.0.1.${n}`)])
    await run([at(2, '10.0.2.1')])
    t.equal((await query.page({ limit: 9 })).entities.length, 2)
    await run([at(1, '10.0.1.8'), at(2, '10.0.2.2'), at(3, '10.0.3.1')])
    t.equal(uncompared.length, 0)
    await run([at(1, '10.0.1.9'), at(2, '10.0.2.3'), at(3, '10.0.3.2')])
    t.equal(uncompared.length, 1)
    const traces = await ledger.read.selectFrom('discovery_traces').select('entity_id').execute()
    const counts = [...Map.groupBy(traces, each => each.entity_id).values()].map(
      each => each.length,
    )
    t.strictSame(counts.toSorted(), [1, 2, 3, 9], 'one sighting is apart')
  },
)

t.test('a cell that reports too much is told to wait', async t => {
  const { openOne, clock } = await openScene(t)
  const { recorder } = await openOne(2)
  const record = (runId: string) =>
    recorder.record(recordOf([host(1), host(2)], { module: 'network-map', runId, at: clock.now }))
  await record('a')
  await t.rejects(record('b'), { code: 'rate_limited' })
  clock.now += 60_000
  await record('b')
})

t.test('a module about no things leaves no entities', async t => {
  const { run, query } = await openScene(t)
  await run([host(1)], 'weather-forecast')
  t.strictSame(await query.listScanners(5), [])
  t.equal((await query.page({ limit: 5 })).entities.length, 0)
})

t.test('a name with control characters does not stop the others of its run', async t => {
  const { run, query } = await openScene(t)
  const spoofed: Sighting = { keys: [{ kind: 'serial', value: 'SN\u0000123456' }], facts: {} }
  await run([spoofed, { ...host(1), facts: { name: 'one\u0000 \ud800' } }])
  t.equal((await query.page({ limit: 5, text: 'one' })).entities.length, 1)
})

/** Compares what entities are found by with what their rows and traces say. */
const findIndexFaults = async ({ ledger: { read } }: Pick<Scene, 'ledger'>): Promise<string[]> => {
  const entities = await read.selectFrom('discovery_entities').selectAll().execute()
  const traces = await readTracesOf(
    read,
    entities.map(({ id }) => id),
  )
  const all = await read.selectFrom('discovery_traces').select('id').execute()
  const wanted = new Set<string>()
  for (const { id, type, sources, last_at, description_json } of entities) {
    for (const source of listSources(sources)) wanted.add(`source ${id} ${source} ${last_at}`)
    for (const word of listEntityWords(type, JSON.parse(description_json)))
      wanted.add(`word ${id} ${word}`)
    const newest = Math.max(...traces.flatMap(each => (each.entityId === id ? each.lastAt : [])))
    if (newest !== last_at) wanted.add(`${id} was last seen at ${newest} and not ${last_at}`)
  }
  for (const trace of traces)
    for (const name of [...listConnections(trace), ...listSiteAddresses(trace)])
      wanted.add(`name ${trace.id} ${name}`)
  const stored = [
    ...(await read.selectFrom('discovery_entity_sources').selectAll().execute()).map(
      row => `source ${row.entity_id} ${row.source} ${row.last_at}`,
    ),
    ...(await read.selectFrom('discovery_entity_words').selectAll().execute()).map(
      row => `word ${row.entity_id} ${row.word}`,
    ),
    ...(await read.selectFrom('discovery_trace_names').selectAll().execute()).map(
      row => `name ${row.trace_id} ${row.name}`,
    ),
  ]
  if (all.length !== traces.length) wanted.add('a trace has no entity')
  return [...stored.filter(row => !wanted.delete(row)), ...wanted]
}

t.test('what entities are found by follows runs, decisions, erasures and the upkeep', async t => {
  const scene = await openScene(t)
  const { run, admin, query, tidy, clock } = scene
  const pins: string[] = []
  const pickEntity = async (n: number): Promise<string> => {
    const { entities } = await query.page({ limit: 50 })
    return entities[n % Math.max(1, entities.length)]?.entity_id ?? 'none'
  }
  const sightingOf = (n: number): Sighting => ({
    keys: [
      ...(n % 3 === 0 ? [] : [{ kind: 'mac' as const, value: `b8:27:eb:00:00:0${n % 5}` }]),
      ...(n % 2 === 0 ? [{ kind: 'ip' as const, value: `10.0.0.${n % 4}` }] : []),
      ...(n % 7 === 0 ? [{ kind: 'serial' as const, value: `serial-${n % 4}` }] : []),
    ],
    facts: { name: `name ${n % 6}`, ip_addresses: [`10.0.0.${n % 4}`] },
    ...(n % 11 === 0 && { is_gone: true }),
  })
  const steps: Record<string, (n: number, m: number) => Promise<unknown>> = {
    run: (n, m) => run([sightingOf(n), sightingOf(m), sightingOf(n + m)]),
    listen: (n, m) => run([sightingOf(n), sightingOf(m)], 'mdns-scan'),
    merge: async (n, m) =>
      pins.push(await admin.merge(await pickEntity(n), await pickEntity(m), 'person_a')),
    split: async (n, m) =>
      pins.push(
        await admin.split(await pickEntity(n), [`mac=b8:27:eb:00:00:0${m % 5}`], 'person_a'),
      ),
    unpin: async n => admin.unpin(pins.splice(n % Math.max(1, pins.length), 1)[0] ?? 'none'),
    name: async (n, m) => admin.setValues(await pickEntity(n), { name: `given ${m}` }, 'person_a'),
    erase: async n => admin.erase(await pickEntity(n), BY),
    tidy: async () => tidy({ maxEntities: 3 }),
    wait: async n => {
      clock.now += n * DAY_MS
      await tidy()
    },
  }
  const step = fc.tuple(
    fc.constantFrom('run', 'run', 'run', ...Object.keys(steps)),
    fc.nat(30),
    fc.nat(30),
  )
  const property = fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 40 }), async all => {
    for (const [name, n, m] of all) {
      // a decision about what does not exist is refused
      await steps[name]?.(n, m).catch(error => assert.ok(error instanceof ShoalError, error))
      assert.deepEqual(await findIndexFaults(scene), [], `after ${name} ${n} ${m}`)
    }
  })
  await t.resolves(fc.assert(property, { numRuns: RUNS, seed: 14, endOnFailure: true }))
})

t.test('what a later version has stored is read and recorded beside', async t => {
  const { run, query, ledger } = await openScene(t)
  await run([host(1)])
  const key = { kind: 'later_id', value: 'x', added: 1 }
  await ledger.sealed.write(async trx => {
    const { keys_json } = await trx
      .selectFrom('discovery_traces')
      .select('keys_json')
      .executeTakeFirstOrThrow()
    const keys = { keys_json: JSON.stringify([...JSON.parse(keys_json), key]) }
    await trx.updateTable('discovery_traces').set(keys).execute()
    const delta = { kind: 'moved' as never, body_json: '{}' }
    await trx.updateTable('discovery_deltas').set(delta).execute()
  })
  await run([host(1), host(2)])
  t.equal((await query.page({ limit: 10 })).entities.length, 2)
  const [first] = await query.deltas({ limit: 10 })
  t.match(first, { kind: 'moved', name: null, other_id: null })
})

t.test('around an unreadable decision everything is recorded and nothing merges', async t => {
  const { run, query, admin, ledger, clock } = await openScene(t)
  const see = async (hostname: string) => {
    await run([host(1), host(2)])
    const keys = [{ kind: 'ip', value: '10.0.0.1' }] as const
    await run([{ keys: [...keys], facts: { hostname } }], 'mdns-scan')
  }
  const list = async () => (await query.page({ limit: 10 })).entities
  for (const damage of [{ body_json: '{' }, { kind: 'later' as never }]) {
    await see('one')
    const split = (await list()).find(({ keys }) => keys.some(({ value }) => value.endsWith(':01')))
    const pin = await admin.split(split?.entity_id ?? '', ['mac=b8:27:eb:00:00:01'], 'p')
    t.equal((await list()).length, 3)
    await ledger.sealed.write(async trx => {
      await trx.updateTable('discovery_pins').set(damage).where('id', '=', pin).execute()
      await trx
        .updateTable('discovery_links')
        .set({ kind: 'later' as never })
        .execute()
    })
    await see('two')
    await run([{ ...host(1), facts: { hostname: 'three' } }])
    const apart = await list()
    t.equal(apart.length, 3)
    t.equal(Date.parse(apart[0]?.last_seen ?? ''), clock.now)
    t.match(await admin.listPins(10), [{ pin_id: pin, kind: 'unreadable', actor: null }])
    const [one = '', other = ''] = apart
      .filter(({ keys }) => !keys.some(({ value }) => value.endsWith(':02')))
      .map(({ entity_id }) => entity_id)
    await t.rejects(admin.merge(one, other, 'p'), { code: 'conflict', message: pin })
    await admin.unpin(pin)
    await see(`four ${pin}`)
    t.equal((await list()).length, 2)
  }
})

t.test('each of two decisions that cannot be read can be taken back', async t => {
  const { run, query, admin, ledger } = await openScene(t)
  const list = async () => (await query.page({ limit: 10 })).entities
  const keys = [{ kind: 'ip', value: '10.0.0.1' }] as const
  await run([host(1), host(2)])
  await run([{ keys: [...keys], facts: { hostname: 'one' } }], 'mdns-scan')
  const [first, second] = (await list()).map(({ entity_id }) => entity_id) as [string, string]
  const merged = await admin.merge(first, second, 'p')
  const [joined] = await list()
  const split = await admin.split(joined?.entity_id ?? '', ['mac=b8:27:eb:00:00:01'], 'p')
  const apart = await list()
  await ledger.sealed.write(trx =>
    trx.updateTable('discovery_pins').set({ body_json: '{' }).execute(),
  )
  await admin.unpin(split)
  t.strictSame(await list(), apart, 'nothing changes while the other one holds it')
  t.match(await admin.listPins(10), [{ pin_id: merged, kind: 'unreadable' }])
  await admin.unpin(merged)
  t.strictSame(await admin.listPins(10), [])
  t.equal((await list()).length, 2, 'the evidence decides again')
})

t.test('a link that cannot be read holds its sightings until they are seen again', async t => {
  const { run, query, admin, ledger } = await openScene(t)
  const list = async () => (await query.page({ limit: 10 })).entities
  const keys = [{ kind: 'ip', value: '10.0.0.1' }] as const
  const see = async () => {
    await run([host(1), host(2)])
    await run([{ keys: [...keys], facts: { hostname: 'one' } }], 'mdns-scan')
  }
  await see()
  const [one = '', other = ''] = (await list()).map(({ entity_id }) => entity_id)
  const pin = await admin.merge(one, other, 'p')
  const damage = { kind: 'later' as never }
  await ledger.sealed.write(trx => trx.updateTable('discovery_links').set(damage).execute())
  await admin.unpin(pin)
  t.equal((await list()).length, 2, 'the address is not divided from its holder')
  await t.rejects(admin.merge(one, other, 'p'), { code: 'conflict', message: /a link between/ })
  await see()
  await admin.unpin(await admin.merge(one, other, 'p'))
  t.equal((await list()).length, 2)
})

t.test('an erasure leaves what the coordinator itself says of other entities', async t => {
  const { run, query, admin } = await openScene(t)
  for (const serial of ['Unknown', 'Low', 'network-map']) {
    await run([host(1, { serial }), host(2)])
    const { entities } = await query.page({ limit: 10 })
    const isErased = ({ fields }: (typeof entities)[number]): boolean => fields.serial !== undefined
    await admin.erase(entities.find(isErased)?.entity_id ?? '', BY)
    const left = await query.page({ limit: 10 })
    t.strictSame(
      left.entities,
      entities.filter(each => !isErased(each)),
      serial,
    )
  }
})

t.test('several coordinators record one history', async t => {
  const { all, clock, query } = await openScene(t, 2)
  const hosts = [1, 2, 3, 4, 5, 6].map(n => host(n))
  await Promise.all(
    hosts.map((sighting, n) => {
      const found = recordOf([sighting], { module: 'network-map', runId: `r${n}`, at: clock.now })
      return all[n % 2]?.recorder.record({ ...found, outcome: undefined })
    }),
  )
  t.equal((await query.page({ limit: 10 })).entities.length, 6)
  t.strictSame(
    (await query.deltas({ limit: 10 })).map(({ seq }) => seq),
    [1, 2, 3, 4, 5, 6],
  )
})
