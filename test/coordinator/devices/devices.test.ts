import t, { type Test } from 'tap'
import { Budget } from '../../../coordinator/budgets/budget.ts'
import { DeviceRecorder } from '../../../coordinator/devices/device-recorder.ts'
import { DeviceRegistry } from '../../../coordinator/devices/device-registry.ts'
import { DeviceSeries } from '../../../coordinator/devices/device-series.ts'
import { DeviceStates } from '../../../coordinator/devices/device-states.ts'
import { findDevice, findSimilarDevice } from '../../../coordinator/devices/find-device.ts'
import { EventLog } from '../../../coordinator/events/event-log.ts'
import type { Presence } from '../../../coordinator/fleet/presence.ts'
import { putTold } from '../../../coordinator/fleet/presence-rows.ts'
import type { StorePlace } from '../../../coordinator/store/place.ts'
import { openStore } from '../../../coordinator/store/store.ts'
import { createDeviceId } from '../../../devices/device-id.ts'
import type { Announce } from '../../../shared/wire/announce.ts'
import { silent } from '../../support/cell.ts'
import { announceDevices, createDeviceFacts, ROVER } from '../../support/device-facts.ts'
import { createStoreDatabase, postgresMissing } from '../../support/postgres.ts'
import { addCell } from '../control/cell-row.ts'
import { temporaryFolder } from '../store/temporary.ts'

/** A coordinator as far as devices need it; cells announce themselves to it as a test says. */
const openReplica = async (t: Test, place: StorePlace, name: string) => {
  const store = await openStore(place, { pollMilliseconds: 0 })
  const source = `/shoal/${name}`
  const events = await EventLog.open({ store, source, kept: 100, logger: silent, now: Date.now })
  const registry = new DeviceRegistry(store.ledger)
  await registry.read()
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
      await store.ledger.sealed.write(trx => putTold(trx, [{ cellId, presence }], 0))
      recorder.note(cellId, 'presence')
      await recorder.waitForWrites()
    },
    find: async (id: string) => {
      await registry.read()
      return registry.get(id)
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
      t.match(await b.find('dev_rover'), { cellId: 'x', kind: 'robot', isAvailable: true })
      await both(fast)
      await b.see('x', 'dead')
      t.match(await a.find('dev_rover'), { isAvailable: false, facts: { envelope: fast } })
      await both()
      t.equal(await b.find('dev_rover'), undefined)
      await both(slow)
      t.strictSame(
        await a.listEvents(),
        ['added', 'available', 'changed', 'unavailable', 'removed', 'added'].map(
          what => `shoal.device.${what} dev_rover`,
        ),
      )
    })

    t.test('a device of two cells belongs to the connected one that has it longest', async t => {
      const { a, b } = await scene(t)
      await a.announce('x', announceDevices([createDeviceFacts('rover')]))
      await a.see('x', 'ready')
      await b.see('y', 'ready')
      await b.announce('y', announceDevices([createDeviceFacts('rover', { site: 'south' })]))
      t.match(await a.find('dev_rover'), { cellId: 'x', alsoOn: ['y'], isAvailable: true })
      await b.see('x', 'dead')
      t.match(await a.find('dev_rover'), { cellId: 'y', alsoOn: ['x'], facts: { site: 'south' } })
      await a.see('x', 'ready')
      t.match(await b.find('dev_rover'), { cellId: 'x', alsoOn: ['y'] })
      await a.announce('x', announceDevices([]))
      t.match(await b.find('dev_rover'), { cellId: 'y', alsoOn: [] })
      await a.announce('x', announceDevices([createDeviceFacts('rover')]))
      t.match(await b.find('dev_rover'), { cellId: 'x' }, 'a short break does not end its claim')
    })

    t.test('samples of two coordinators become one series, over restarts', async t => {
      const { a, b } = await scene(t)
      const clock = { now: 7 * 3_600_000 }
      const open = ({ records }: typeof a.store) =>
        new DeviceSeries({ records, now: () => clock.now, logger: silent })
      const [first, second] = [open(a.store), open(b.store)]
      for (const value of [10, 20]) first.add('dev_rover', 'battery_percent', value)
      await first.flush()
      second.add('dev_rover', 'battery_percent', 60)
      clock.now += 60_000
      second.add('dev_rover', 'battery_percent', 5)
      await second.flush()
      second.add('dev_rover', 'battery_percent', 15)
      const read = (series: DeviceSeries, resolution: '1m' | '1h') =>
        series.points('dev_rover', 'battery_percent', resolution)
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
      t.match(await a.find('dev_rover'), {
        isAvailable: false,
        facts: { reason: 'the daemon has capability level 5, and devices need level 6' },
      })
      a.recorder.note('x', 'removal')
      await a.recorder.waitForWrites()
      t.ok(await a.find('dev_rover'), 'a cell that is enrolled keeps its devices')
      const cells = a.store.ledger.sealed.write(trx =>
        trx.updateTable('cells').set({ revoked_at: 1 }).execute(),
      )
      await cells
      a.recorder.note('x', 'removal')
      await a.recorder.waitForWrites()
      t.equal(await a.find('dev_rover'), undefined)
    })
  })

t.test('a reference to a device', async t => {
  const devices = ['Rover-1', 'rover-2', 'drone'].map(name => ({
    id: `dev_${name.length}${name}`,
    facts: createDeviceFacts(name),
  })) as unknown as Parameters<typeof findDevice>[0]

  t.test('that is read or stopped', async t => {
    const find = (reference: string) => findSimilarDevice(devices, reference).facts.name
    t.equal(find('dev_5drone'), 'drone', 'can be its id')
    t.equal(find('rover-1'), 'Rover-1', 'can be its name in lower case')
    t.equal(find('dr'), 'drone', 'can be a beginning of its name')
    t.equal(find('5'), 'drone', 'can be a beginning of its id without the prefix')
    t.throws(() => find('boat'), { code: 'not_found' })
    t.throws(() => find('rov'), {
      code: 'conflict',
      message: 'rov matches 2 devices: Rover-1 (dev_7Rover-1), rover-2 (dev_7rover-2); use an id',
    })
  })

  t.test('that is changed cannot be a beginning of its name', async t => {
    const arm = { id: createDeviceId('arm'), facts: createDeviceFacts('arm-left') }
    const named = { id: createDeviceId('other'), facts: createDeviceFacts(arm.id.slice(0, 12)) }
    const all = [...devices, arm as (typeof devices)[number]]
    const find = (reference: string) => findDevice(all, reference).facts.name
    t.equal(find(arm.id), 'arm-left')
    t.equal(find('arm-left'), 'arm-left')
    for (const length of [12, 20])
      t.equal(find(arm.id.slice(0, length)), 'arm-left', `${length} characters of its id`)
    // a device with the name `101` may be gone, and another have the id `dev_101…`
    const withoutKind = [arm.id.slice(4, 7), arm.id.slice(4, 12), arm.id.slice(4)]
    for (const beginning of ['arm', 'ARM-left', arm.id.slice(0, 11), ...withoutKind])
      t.throws(
        () => find(beginning),
        {
          code: 'not_found',
          message: `no device ${beginning}; write the whole name or an id: arm-left (${arm.id})`,
        },
        beginning,
      )
    t.throws(() => find('dev_5dr'), { code: 'not_found' }, 'nor of an id that a cell chose')
    t.throws(() => find('boat'), { code: 'not_found', message: 'no device boat' })
    const both = [...all, named as (typeof devices)[number]]
    t.throws(() => findDevice(both, named.facts.name), { code: 'conflict' }, 'nor stand for two')
  })
})

t.test('readings have their age by the clock of the coordinator', async t => {
  const budget = new Budget({ total: 10_000, per: { cell: 1000 } })
  const states = new DeviceStates(budget)
  const announced = new Set(['dev_rover'])
  const readings = {
    battery_percent: { value: 50, at: 1_000_000 },
    mode: { value: 'idle', at: 930_000 },
    invented: { value: 1, at: 1 },
  }
  const state = { seen_at: 1_000_000, readings }
  const received = ['dev_rover', 'dev_other'].map(device_id => ({ device_id, ...state }))
  states.put('x', received, { clockAheadMs: 900_000, announced })
  const read = (id: string, now: number) => states.read('x', id, { profile: ROVER, now })
  t.strictSame(read('dev_rover', 100_000), {
    seenAt: 100_000,
    readings: new Map([
      ['battery_percent', { value: 50, at: 100_000, isStale: false }],
      ['mode', { value: 'idle', at: 30_000, isStale: true }],
    ]),
  })
  t.equal(read('dev_other', 100_000), undefined, 'what the cell does not announce is dropped')
  const large = { mode: { value: 'x'.repeat(1000), at: 1 } }
  const tooLarge = { device_id: 'dev_rover', seen_at: 1, readings: large }
  states.put('x', [tooLarge], { clockAheadMs: 0, announced })
  t.equal(read('dev_rover', 100_000), undefined, 'a cell has a share of the memory')
  const named = { ...ROVER, properties: { constructor: ROVER.properties.mode } } as never
  for (const clockAheadMs of [-9e15, 9e15]) {
    states.put('x', [{ ...received[0], seen_at: 0 } as never], { clockAheadMs, announced })
    const hostile = states.read('x', 'dev_rover', { profile: named, now: 100_000 })
    t.doesNotThrow(() => new Date(hostile?.seenAt ?? 0).toISOString(), 'it is a time in any case')
    t.equal(hostile?.readings.size, 0, 'what an object inherits is no reading')
  }
  states.put('x', received, { clockAheadMs: 0, announced })
  states.keep('x', new Set())
  t.equal(budget.used, 0)
  t.equal(read('dev_rover', 100_000), undefined)
})
