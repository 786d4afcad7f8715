import t, { type Test } from 'tap'
import * as z from 'zod'
import { DELTA_EVENT } from '../../../coordinator/discovery/deltas.ts'
import { ModuleObserver } from '../../../coordinator/discovery/module-observer.ts'
import { RegistryAdmin } from '../../../coordinator/discovery/registry-admin.ts'
import { RegistryQuery } from '../../../coordinator/discovery/registry-query.ts'
import { RegistryRecorder } from '../../../coordinator/discovery/registry-recorder.ts'
import {
  type RegistryLimits,
  tidyRegistry,
} from '../../../coordinator/discovery/registry-upkeep.ts'
import { SightingRates } from '../../../coordinator/discovery/sighting-rates.ts'
import type { EventDraft } from '../../../coordinator/events/bus.ts'
import { type DiscoveryModule, defineScan } from '../../../discovery/module.ts'
import type { Sighting } from '../../../discovery/sighting.ts'
import type { ModuleRow } from '../../../shared/wire/findings.ts'
import { temporaryFolder, temporaryStore } from '../store/temporary.ts'

const DAY_MS = 86_400_000
const LIMITS: RegistryLimits = {
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
  const observer = new ModuleObserver(['network-map', 'mdns-scan'].map(scanModule))
  const now = (): number => clock.now
  const openOne = async (limit = 10_000) => {
    const { ledger } = await temporaryStore(t, folder)
    const recorder = new RegistryRecorder({
      ledger,
      events: { addWithin: async (_trx, drafts) => void events.push(...drafts) },
      observer,
      rates: new SightingRates(limit),
      now,
    })
    const { publish } = recorder
    const admin = new RegistryAdmin({ ledger, publish, now })
    const tidy = (limits: Partial<RegistryLimits> = {}) =>
      tidyRegistry(ledger, { publish, limits: { ...LIMITS, ...limits }, now: clock.now })
    return { recorder, admin, tidy, query: new RegistryQuery(ledger.read, now) }
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
  return { ...first, all, clock, events, run, openOne }
}

const recordOf = (
  sightings: readonly Sighting[],
  { module, runId, at }: { module: string; runId: string; at: number },
) => ({
  cellId: 'cell_a',
  module,
  runId,
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

t.test('an erased entity leaves nothing behind', async t => {
  const { run, query, admin } = await openScene(t)
  await run([host(1, { name: 'annas-phone' })])
  const [entity] = (await query.page({ limit: 1 })).entities
  await admin.erase(entity?.entity_id ?? '')
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

t.test('a module about no things leaves nothing in the registry', async t => {
  const { run, query } = await openScene(t)
  await run([host(1)], 'weather-forecast')
  t.strictSame(await query.listScanners(5), [])
  t.equal((await query.page({ limit: 5 })).entities.length, 0)
})

t.test('a name with control characters does not stop the others of its run', async t => {
  const { run, query } = await openScene(t)
  const spoofed: Sighting = { keys: [{ kind: 'serial', value: 'SN\u0000123456' }], facts: {} }
  await run([spoofed, { ...host(1), facts: { name: 'one\u0000' } }])
  t.equal((await query.page({ limit: 5 })).entities.length, 1)
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
