import t, { type Test } from 'tap'
import type { Device } from '../../../../coordinator/devices/inventory/device.table.ts'
import { DeviceInventory } from '../../../../coordinator/devices/inventory/device-inventory.ts'
import { DeviceRecorder } from '../../../../coordinator/devices/inventory/device-recorder.ts'
import { readQuarantined } from '../../../../coordinator/devices/inventory/device-rows.ts'
import { DeviceSeries } from '../../../../coordinator/devices/inventory/device-series.ts'
import { DeviceStates } from '../../../../coordinator/devices/inventory/device-states.ts'
import {
  findDevice,
  findEveryDevice,
  findReadDevice,
} from '../../../../coordinator/devices/inventory/find-device.ts'
import { listMisjudged } from '../../../../coordinator/devices/inventory/follow-cells.ts'
import { observeRefused } from '../../../../coordinator/devices/inventory/observe-refused.ts'
import type { RefusedDevice } from '../../../../coordinator/fleet/broker/admit-devices.ts'
import { createInbox } from '../../../../coordinator/fleet/broker/inbox.ts'
import type { Presence } from '../../../../coordinator/fleet/cells/presence.ts'
import { putPublishedPresence } from '../../../../coordinator/fleet/cells/presence-rows.ts'
import { Budget } from '../../../../coordinator/kernel/budgets/budget.ts'
import { EventLog } from '../../../../coordinator/kernel/events/event-log.ts'
import type { StorePlace } from '../../../../coordinator/kernel/store/place.ts'
import { openStore } from '../../../../coordinator/kernel/store/store.ts'
import { createDeviceId } from '../../../../devices/device-id.ts'
import { newId, randomId } from '../../../../shared/ids.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import type { Announce } from '../../../../shared/wire/announce.ts'
import { DeviceFacts } from '../../../../shared/wire/device.ts'
import { Seen } from '../../../../shared/wire/device-outcome.ts'
import { silent } from '../../../support/cell.ts'
import { announceDevices, createDeviceFacts, ROVER } from '../../../support/device-facts.ts'
import { createStoreDatabase, postgresMissing } from '../../../support/postgres.ts'
import { addCell } from '../../fleet/control/cell-row.ts'
import { temporaryFolder } from '../../kernel/store/temporary.ts'

/** A coordinator as far as devices need it; cells announce themselves to it as a test says. */
const openReplica = async (t: Test, place: StorePlace, name: string) => {
  const store = await openStore(place, { pollMilliseconds: 0 })
  const source = `/shoal/${name}`
  const events = await EventLog.open({
    store,
    source,
    kept: 100,
    logger: silent,
    now: Date.now,
    runtime: systemRuntime,
  })
  const inventory = new DeviceInventory(store.ledger, silent)
  await inventory.read()
  const births = new Map<string, Announce>()
  const recorder = new DeviceRecorder({
    ledger: store.ledger,
    events,
    announced: cellId => births.get(cellId),
    onChange: () => {},
    now: Date.now,
    logger: silent,
  })
  t.teardown(async () => {
    await recorder.waitForWrites()
    await events.close()
    await store.close()
  })
  return {
    store,
    recorder,
    announce: async (cellId: string, announce: Announce) => {
      births.set(cellId, announce)
      recorder.note(cellId, 'birth')
      await recorder.waitForWrites()
    },
    see: async (cellId: string, presence: Presence) => {
      await store.ledger.sealed.write(trx => putPublishedPresence(trx, [{ cellId, presence }], 0))
      recorder.note(cellId, 'presence')
      await recorder.waitForWrites()
    },
    listTakeOvers: async () => {
      const rows = await store.ledger.read
        .selectFrom('audit')
        .select('details_json')
        .where('action', '=', 'device.take_over')
        .orderBy('seq')
        .execute()
      return rows.map(({ details_json }) => JSON.parse(details_json ?? '{}'))
    },
    find: async (id: string) => {
      await inventory.read()
      return inventory.get(id)
    },
    listEvents: async () => {
      await events.catchUp()
      return events.read(0).events.map(({ type, subject }) => `${type} ${subject}`)
    },
  }
}

const places: [string, string | false, (t: Test) => Promise<StorePlace>][] = [
  ['SQLite', false, temporaryFolder],
  ['PostgreSQL', postgresMissing, createStoreDatabase],
]

for (const [engine, skip, placeFor] of places)
  t.test(`devices over two coordinators on ${engine}`, { skip }, async t => {
    const scene = async (t: Test) => {
      const place = await placeFor(t)
      const a = await openReplica(t, place, 'a')
      return { a, b: await openReplica(t, place, 'b') }
    }

    t.test('each change of a device is one event, whoever hears it', async t => {
      const { a, b } = await scene(t)
      const [slow, fast] = [{ max_speed_m_s: 1 }, { max_speed_m_s: 2 }]
      const both = async (...envelopes: object[]) => {
        const devices = envelopes.map(envelope => createDeviceFacts('rover', { envelope }))
        await Promise.all([a, b].map(each => each.announce('x', announceDevices(devices))))
      }
      await both(slow)
      await Promise.all([a.see('x', 'ready'), b.see('x', 'ready')])
      t.match(await b.find(createDeviceId('rover')), {
        cellId: 'x',
        kind: 'robot',
        isAvailable: true,
      })
      await both(fast)
      await b.see('x', 'dead')
      t.match(await a.find(createDeviceId('rover')), {
        isAvailable: false,
        facts: { envelope: fast },
      })
      await both()
      t.equal(await b.find(createDeviceId('rover')), undefined)
      await both(slow)
      t.strictSame(
        await a.listEvents(),
        ['added', 'available', 'changed', 'unavailable', 'removed', 'added'].map(
          what => `shoal.device.${what} ${createDeviceId('rover')}`,
        ),
      )
    })

    t.test('a device that a later version has stored is read, and keeps what it has', async t => {
      const { a, b } = await scene(t)
      await a.announce('x', announceDevices([createDeviceFacts('rover')]))
      await a.announce('y', announceDevices([createDeviceFacts('arm')]))
      const id = createDeviceId('rover')
      const facts = {
        ...createDeviceFacts('rover'),
        envelope: { geofences: [{ frame: 'later' }] },
        added: true,
      }
      const later = { kind: 'boat' as never, facts_json: JSON.stringify(facts) }
      const { ledger } = a.store
      for (const table of ['devices', 'device_cells'] as const)
        await ledger.sealed.write(trx =>
          trx.updateTable(table).set(later).where('device_id', '=', id).execute(),
        )
      const version = { version: 1_000_000 }
      await ledger.sealed.write(trx =>
        trx.updateTable('devices').set(version).where('device_id', '=', id).execute(),
      )
      t.match(await b.find(id), { kind: 'boat', facts })
      t.ok(await b.find(createDeviceId('arm')), 'and the others beside it')
      await a.see('x', 'ready')
      const query = ledger.read.selectFrom('devices').select(['kind', 'facts_json'])
      const row = await query.where('device_id', '=', id).executeTakeFirstOrThrow()
      t.match(
        { ...row, facts_json: JSON.parse(row.facts_json) },
        { kind: 'boat', facts_json: facts },
      )
    })

    t.test('a device that cannot be read is absent, until its cell announces it', async t => {
      const { a, b } = await scene(t)
      await a.announce('x', announceDevices([createDeviceFacts('rover')]))
      await a.announce('y', announceDevices([createDeviceFacts('arm')]))
      const [rover, arm] = [createDeviceId('rover'), createDeviceId('arm')]
      for (const table of ['devices', 'device_cells'] as const)
        await a.store.ledger.sealed.write(trx =>
          trx.updateTable(table).set({ facts_json: '{' }).where('device_id', '=', rover).execute(),
        )
      t.strictSame([await b.find(rover), (await b.find(arm))?.id], [undefined, arm])
      await a.announce('x', announceDevices([createDeviceFacts('rover')]))
      t.match(await b.find(rover), { id: rover, facts: { name: 'rover' } })
    })

    t.test(
      'a device of two cells stays with its cell until that one is known to be away, and every change is audited',
      async t => {
        const { a, b } = await scene(t)
        await a.announce('x', announceDevices([createDeviceFacts('rover')]))
        await a.see('x', 'ready')
        await b.see('y', 'ready')
        await b.announce('y', announceDevices([createDeviceFacts('rover', { site: 'south' })]))
        t.match(await a.find(createDeviceId('rover')), {
          cellId: 'x',
          alsoOn: ['y'],
          isAvailable: true,
        })
        for (const presence of ['suspect', 'unknown', 'draining'] as const) {
          await b.see('x', presence)
          t.match(await a.find(createDeviceId('rover')), { cellId: 'x', alsoOn: ['y'] }, presence)
        }
        await b.see('x', 'dead')
        t.match(await a.find(createDeviceId('rover')), {
          cellId: 'y',
          alsoOn: ['x'],
          isAvailable: true,
          facts: { site: 'south' },
        })
        await a.see('x', 'ready')
        t.match(await b.find(createDeviceId('rover')), { cellId: 'y', alsoOn: ['x'] }, 'y is alive')
        await a.announce('y', announceDevices([]))
        t.match(await b.find(createDeviceId('rover')), { cellId: 'x', alsoOn: [] })
        await b.announce('y', announceDevices([createDeviceFacts('rover')]))
        await a.announce('x', announceDevices([]))
        await a.announce('y', announceDevices([]))
        await a.announce('x', announceDevices([createDeviceFacts('rover')]))
        t.match(await b.find(createDeviceId('rover')), { cellId: 'x' }, 'the last owner is stored')
        const takeOvers = await a.listTakeOvers()
        t.strictSame(takeOvers, [
          { name: 'rover', from_cell_id: 'x', to_cell_id: 'y', reason: 'offline' },
          { name: 'rover', from_cell_id: 'y', to_cell_id: 'x', reason: 'withdrawn' },
          { name: 'rover', from_cell_id: 'x', to_cell_id: 'y', reason: 'withdrawn' },
          { name: 'rover', from_cell_id: 'y', to_cell_id: 'x', reason: 'withdrawn' },
        ])
        const events = await b.listEvents()
        const taken = events.filter(event => event.startsWith('shoal.device.taken_over '))
        t.equal(taken.length, takeOvers.length)
      },
    )

    t.test(
      'a cell in quarantine gives its device to a connected one, a silent cell none',
      async t => {
        const { a, b } = await scene(t)
        const id = createDeviceId('rover')
        const [x, y] = ['x', 'y'] as const
        const { ledger } = a.store
        for (const cellId of [x, y]) {
          await addCell(ledger, cellId, '')
          await a.announce(cellId, announceDevices([createDeviceFacts('rover')]))
          await a.see(cellId, 'ready')
        }
        await ledger.sealed.write(trx =>
          trx.deleteFrom('cell_presence').where('cell_id', '=', x).execute(),
        )
        b.recorder.note(x, 'removal')
        await b.recorder.waitForWrites()
        t.match(await b.find(id), { cellId: x, alsoOn: [y] }, 'it is only not seen')
        const own = [await b.find(id)].flatMap(one => one ?? [])
        await ledger.sealed.write(trx =>
          trx.updateTable('cells').set({ quarantined_at: 1 }).where('id', '=', x).execute(),
        )
        const quarantined = await readQuarantined(ledger.read)
        const seen = { of: (cellId: string) => (cellId === y ? ('ready' as const) : undefined) }
        const list = (cells: ReadonlySet<string>) => [...listMisjudged(own, seen, cells)]
        t.strictSame([list(quarantined), list(new Set())], [[x], []])
        b.recorder.note(x, 'removal')
        await b.recorder.waitForWrites()
        t.match(await a.find(id), { cellId: y, alsoOn: [x], isAvailable: true })
        t.match(await a.listTakeOvers(), [{ from_cell_id: x, to_cell_id: y, reason: 'offline' }])
      },
    )

    t.test('an id that a cell has made of itself stays with it, whoever announces it', async t => {
      const { a, b } = await scene(t)
      const device_id = createDeviceId('victim:rover-1')
      const own = announceDevices([createDeviceFacts('rover-1', { device_id })])
      const forged = announceDevices([createDeviceFacts('rover-9', { device_id })])
      await a.announce('thief', forged)
      await a.see('thief', 'ready')
      t.match(await b.find(device_id), { cellId: 'thief' }, 'nobody else is known')
      await b.announce('victim', own)
      t.match(await a.find(device_id), { cellId: 'victim', alsoOn: [], isAvailable: false })
      await a.see('victim', 'dead')
      await a.announce('thief', forged)
      t.match(await b.find(device_id), { cellId: 'victim', alsoOn: [] }, 'also while it is away')
      await a.announce('victim', announceDevices([]))
      await a.announce('thief', forged)
      t.equal(await b.find(device_id), undefined, 'and when it has no such device any more')
    })

    t.test('samples of two coordinators become one series, over restarts', async t => {
      const { a, b } = await scene(t)
      const clock = { now: 7 * 3_600_000 }
      const open = ({ records }: typeof a.store) =>
        new DeviceSeries({ records, now: () => clock.now, logger: silent })
      const [first, second] = [open(a.store), open(b.store)]
      for (const value of [10, 20]) first.add(createDeviceId('rover'), 'battery_percent', value)
      await first.flush()
      second.add(createDeviceId('rover'), 'battery_percent', 60)
      clock.now += 60_000
      second.add(createDeviceId('rover'), 'battery_percent', 5)
      await second.flush()
      second.add(createDeviceId('rover'), 'battery_percent', 15)
      const read = (series: DeviceSeries, resolution: '1m' | '1h') =>
        series.points(createDeviceId('rover'), 'battery_percent', resolution)
      t.strictSame(await read(second, '1m'), [
        { at: 7 * 3_600_000, samples: 3, value: 30 },
        { at: 7 * 3_600_000 + 60_000, samples: 2, value: 10 },
      ])
      t.match(await read(open(a.store), '1h'), [{ samples: 4, value: 23.75 }])
    })

    t.test('a daemon that knows no devices keeps them, as unavailable', async t => {
      const { a } = await scene(t)
      await addCell(a.store.ledger, 'x', 'key')
      await a.announce('x', announceDevices([createDeviceFacts('rover')]))
      await a.see('x', 'ready')
      const { devices: _, ...older } = announceDevices([], { capability: 5 })
      await a.announce('x', older)
      t.match(await a.find(createDeviceId('rover')), {
        isAvailable: false,
        facts: { reason: 'the daemon has capability level 5, and devices need level 6' },
      })
      a.recorder.note('x', 'removal')
      await a.recorder.waitForWrites()
      t.ok(await a.find(createDeviceId('rover')), 'a cell that is enrolled keeps its devices')
      const cells = a.store.ledger.sealed.write(trx =>
        trx.updateTable('cells').set({ revoked_at: 1 }).execute(),
      )
      await cells
      a.recorder.note('x', 'removal')
      await a.recorder.waitForWrites()
      t.equal(await a.find(createDeviceId('rover')), undefined)
    })
  })

t.test(
  'a device of a birth that could answer for another, or is unreadable, is refused alone',
  t => {
    const [rover, drone] = [createDeviceFacts('rover'), createDeviceFacts('drone')]
    const heard: { announced?: string[]; refused?: readonly object[] } = {}
    const inbox = createInbox({
      fleet: {
        birth: (_cell, _epoch, { devices = [] }) => {
          heard.announced = devices.map(({ name }) => name)
        },
        state: () => {},
        sample: () => {},
      },
      logger: silent,
      onBirth: () => {},
      devices: {
        onStates: () => {},
        onRefused: (_cell, refused) => {
          heard.refused = refused
        },
      },
    })
    const cell = newId('cell')
    const forged = [
      { ...rover, device_id: 'rover-1' },
      { ...rover, device_id: 'dev_rover' },
      { ...rover, device_id: rover.device_id.toUpperCase() },
      { ...createDeviceFacts('twin'), device_id: drone.device_id },
      createDeviceFacts(rover.device_id),
      { ...createDeviceFacts('boat'), profile: 'boat' },
      { ...createDeviceFacts('kite'), available: 'soon' } as unknown as DeviceFacts,
    ]
    const later = { ...drone, envelope: { max_speed_m_s: 2, max_depth_m: 40 } }
    const announced = announceDevices([later, ...forged, rover])
    const [profile] = announced.device_profiles ?? []
    const boat = { ...profile, profile: 'boat', kind: 'boat' }
    const body = { ...announced, device_profiles: [profile, boat] }
    const birth = {
      v: 1,
      id: randomId(),
      sender: cell,
      epoch: 1,
      at: Date.now(),
      type: 'birth',
      body,
    }
    inbox('birth', cell, Buffer.from(JSON.stringify(birth)))
    t.strictSame(heard.announced, ['drone', 'rover'])
    t.match(heard.refused, [
      { name: '"rover"', reason: /"rover-1" is not dev_/ },
      { reason: /"dev_rover" is not dev_/ },
      { reason: /is not dev_/ },
      { name: '"twin"', reason: /another device of the cell has its id/ },
      { reason: /its name has the form of the id/ },
      { name: '"boat"', reason: /its profile is unknown: kind/ },
      { name: '"kite"', reason: /available: / },
    ])
    const known = { cellId: 'victim', alsoOn: [] } as unknown as Device
    const [alert] = observeRefused({
      cells: [{ id: cell, presence: 'ready', announce: announceDevices([drone]) }],
      inventory: { get: () => known },
      refused: new Map([[cell, heard.refused as RefusedDevice[]]]),
    })
    t.match(alert, { rule: 'device_refused', cellId: cell, message: /"rover-1" .*and 3 more$/ })
    t.end()
  },
)

t.test('a reference to a device', async t => {
  const unit = (name: string, own: object = {}) => ({
    id: createDeviceId(name),
    cellId: `cell of ${name}`,
    facts: createDeviceFacts(name),
    ...own,
  })
  const devices = ['Rover-1', 'rover-2', 'drone', 'arm-left'].map(name =>
    unit(name),
  ) as unknown as Parameters<typeof findDevice>[0]
  const drone = createDeviceId('drone')

  t.test('that is read', async t => {
    const find = (reference: string) => findReadDevice(devices, reference).facts.name
    t.equal(find(drone), 'drone', 'can be its id')
    t.equal(find('rover-1'), 'Rover-1', 'can be its name in lower case')
    t.equal(find('dr'), 'drone', 'can be a beginning of its name')
    t.equal(find(drone.slice(4, 10)), 'drone', 'can be a beginning of its id without the prefix')
    t.throws(() => find('boat'), { code: 'not_found' })
    t.throws(() => find('rov'), {
      code: 'conflict',
      message: `rov matches 2 devices: Rover-1 (${createDeviceId('Rover-1')} on cell of Rover-1), rover-2 (${createDeviceId('rover-2')} on cell of rover-2); use an id`,
    })
  })

  t.test('that is changed cannot be a beginning of its name', async t => {
    const find = (reference: string) => findDevice(devices, reference).facts.name
    const id = createDeviceId('arm-left')
    t.equal(find(id), 'arm-left')
    t.equal(find('arm-left'), 'arm-left')
    for (const length of [12, 20])
      t.equal(find(id.slice(0, length)), 'arm-left', `${length} characters of its id`)
    // a device with the name `101` may be gone, and another have the id `dev_101…`
    const withoutKind = [id.slice(4, 7), id.slice(4, 12), id.slice(4)]
    for (const beginning of ['arm', 'ARM-left', id.slice(0, 11), ...withoutKind])
      t.throws(
        () => find(beginning),
        {
          code: 'not_found',
          message: `no device ${beginning}; write the whole name or an id: arm-left (${id} on cell of arm-left)`,
        },
        beginning,
      )
    t.throws(() => find('boat'), { code: 'not_found', message: 'no device boat' })
  })

  t.test('that is the id of one device and the name of another is ambiguous', async t => {
    const named = unit('other', { facts: createDeviceFacts(drone) }) as (typeof devices)[number]
    const word = unit('rover-9', { id: 'drone' }) as (typeof devices)[number]
    t.throws(() => findDevice([named, ...devices], drone), { code: 'conflict' })
    t.throws(() => findReadDevice([named, ...devices], drone), { code: 'conflict' })
    t.equal(findDevice([word, ...devices], 'drone').id, drone, 'and a word is nobody’s id')
    const twin = unit('DRONE') as (typeof devices)[number]
    const stopped = findEveryDevice([named, twin, ...devices], 'drone')
    t.strictSame(
      stopped.map(({ id }) => id),
      [twin.id, drone],
      'what is urgent goes to every letter case',
    )
    t.equal(findEveryDevice([named, ...devices], drone).length, 2)
    t.throws(() => findEveryDevice(devices, 'dron'), { code: 'not_found' })
  })
})

t.test('readings have their age by the clock of the coordinator', async t => {
  const budget = new Budget({ total: 10_000, per: { cell: 1000 } })
  const states = new DeviceStates(budget)
  const announced = new Set([createDeviceId('rover')])
  const readings = {
    battery_percent: { value: 50, at: 1_000_000 },
    mode: { value: 'idle', at: 930_000 },
    invented: { value: 1, at: 1 },
  }
  const state = { seen_at: 1_000_000, readings }
  const received = [createDeviceId('rover'), createDeviceId('other')].map(device_id => ({
    device_id,
    ...state,
  }))
  states.put('x', received, { clockAheadMs: 900_000, announced })
  const read = (id: string, now: number) => states.read('x', id, { profile: ROVER, now })
  t.strictSame(read(createDeviceId('rover'), 100_000), {
    seenAt: 100_000,
    readings: new Map([
      ['battery_percent', { value: 50, at: 100_000, isStale: false }],
      ['mode', { value: 'idle', at: 30_000, isStale: true }],
    ]),
  })
  t.equal(
    read(createDeviceId('other'), 100_000),
    undefined,
    'what the cell does not announce is dropped',
  )
  const large = { mode: { value: 'x'.repeat(1000), at: 1 } }
  const tooLarge = { device_id: createDeviceId('rover'), seen_at: 1, readings: large }
  states.put('x', [tooLarge], { clockAheadMs: 0, announced })
  t.equal(read(createDeviceId('rover'), 100_000), undefined, 'a cell has a share of the memory')
  const named = { ...ROVER, properties: { constructor: ROVER.properties.mode } } as never
  for (const clockAheadMs of [-9e15, 9e15]) {
    states.put('x', [{ ...received[0], seen_at: 0 } as never], { clockAheadMs, announced })
    const hostile = states.read('x', createDeviceId('rover'), { profile: named, now: 100_000 })
    t.doesNotThrow(() => new Date(hostile?.seenAt ?? 0).toISOString(), 'it is a time in any case')
    t.equal(hostile?.readings.size, 0, 'what an object inherits is no reading')
  }
  states.put('x', received, { clockAheadMs: 0, announced })
  states.keep('x', new Set())
  t.equal(budget.used, 0)
  t.equal(read(createDeviceId('rover'), 100_000), undefined)
})

t.test('a time that no calendar has is refused before a list shows it', t => {
  const since = 9e15
  const facts = createDeviceFacts('rover', { unconfirmed_stop: { since, reason: 'stop' } })
  t.notOk(DeviceFacts.safeParse(facts).success)
  t.notOk(Seen.safeParse({ state: 'moving', at: since, values: {} }).success)
  t.end()
})
