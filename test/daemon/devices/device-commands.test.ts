import t, { type Test } from 'tap'
import { DeviceHost } from '../../../daemon/devices/device-host.ts'
import { createStoppableDevices } from '../../../daemon/devices/stoppable-host.ts'
import { watchPresence } from '../../../daemon/devices/watch-presence.ts'
import { createDeviceId } from '../../../devices/device-id.ts'
import type { Command } from '../../../shared/wire/command.ts'
import { DryRun } from '../../../shared/wire/plan-part.ts'
import { approvalFor } from '../../support/approval-for.ts'
import { silent } from '../../support/cell.ts'
import { FakeLink } from '../../support/fake-link.ts'
import { command, coordinatorSigner, NOW, rig } from '../commands/rig.ts'

type DeviceHostParts = ConstructorParameters<typeof DeviceHost>[0]

const ROVER = createDeviceId('rover')
const TO = { x_m: 3, y_m: 4 }
const AREA: [number, number][] = [
  [-10, -10],
  [10, -10],
  [10, 10],
  [-10, 10],
]

/** A cell with a cart, and its executor. */
const cellWithCart = async (t: Test, config: DeviceHostParts['config'] = {}) => {
  const link = new FakeLink()
  link.add(ROVER)
  link.set(ROVER, NOW, { battery_percent: 80, x_m: 0, y_m: 0, speed_m_s: 0 })
  const host = new DeviceHost({
    config,
    links: [link],
    now: () => NOW,
    nowMs: () => 0,
    logger: silent,
  })
  const at = await rig(t, { devices: host })
  const createCommand = (changes: Partial<Command> = {}) =>
    command({ device_id: ROVER, verb: 'drive-to', params: TO, ...changes })
  /** Plan of the cell, by a dry run. */
  const plan = async (params = TO) =>
    DryRun.parse((await at.obey(createCommand({ params, mode: 'dry' })))?.result)
  /** Command with an approval of this plan. */
  const approve = ({ part }: DryRun, changes: Partial<Command> = {}) => {
    const approval = approvalFor(part, { signer: coordinatorSigner, expiresAt: NOW + 60_000 })
    return createCommand({ approval, ...changes })
  }
  return { ...at, link, host, plan, approve, createCommand }
}

t.test('a verb of a device is planned by its profile and sent as planned', async t => {
  const { obey, plan, approve, link } = await cellWithCart(t)
  const { part } = await plan()
  t.match(part, { device_id: ROVER, verb: 'drive-to', hazard: 'unsafe' })
  t.strictSame(part.operations, [{ topic: `${ROVER}/goal`, ...{ x: 3, y: 4 }, speed: 1 }])
  t.match(part.bounds, { motion: { max_speed_m_s: 1 }, envelope: /^[0-9a-f]{64}$/ })
  t.strictSame(link.executed, [], 'a dry run sends nothing')
  t.match(await obey(approve({ part } as DryRun)), { state: 'succeeded' })
  t.strictSame(link.executed, [[ROVER, part.operations]])
})

t.test('a changed limit voids an approval, and a changed reading does not', async t => {
  const { obey, plan, approve, link, host } = await cellWithCart(t)
  const [first, second] = [await plan(), await plan()]
  link.set(ROVER, NOW, { x_m: 1 })
  t.match(await obey(approve(first)), { state: 'succeeded' })
  host.setEnvelopes({ fleet: { max_speed_m_s: 2 } })
  t.match(await obey(approve(second)), { reason: 'approval_other_plan' })
  t.equal(link.executed.length, 1)
})

t.test('unreadable limits of the coordinator leave only what reads or is urgent', async t => {
  const { obey, plan, approve, createCommand, link, host } = await cellWithCart(t)
  host.setEnvelopes('unreadable')
  const planned = await plan()
  const unreadable = { name: 'coordinator_limits', holds: false, source: 'fleet' }
  t.match(planned.checks[0], unreadable, 'a dry run says so')
  t.match(await obey(approve(planned)), {
    reason: 'precondition_failed',
    message: /limits of the coordinator cannot be read.*connect it to the coordinator/,
  })
  t.strictSame(link.executed, [])
  const stop = createCommand({ verb: 'stop', params: {}, hazard: 'safe' })
  t.match(await obey(stop), { state: 'succeeded' })
  const look = createCommand({ verb: 'look', params: {}, hazard: 'read' })
  t.match(await obey(look), { state: 'succeeded' })
  await createStoppableDevices(host).stopDevice(ROVER, 'hold')
  t.equal(link.stopped.length, 1, 'an e-stop reaches the device')
  host.setEnvelopes({})
  t.match(await obey(approve(await plan())), { state: 'succeeded' })
})

t.test('an unknown device or verb, and a device that is away or locked, are refused', async t => {
  const { obey, link, createCommand } = await cellWithCart(t)
  const dry = (changes: Partial<Command>) => obey(createCommand({ mode: 'dry', ...changes }))
  t.match(await dry({ device_id: createDeviceId('other') }), { reason: 'unknown_device' })
  t.match(await dry({ verb: 'fly' }), { reason: 'unknown_verb' })
  t.match(await dry({ verb: 'constructor' }), { reason: 'unknown_verb' })
  link.add(ROVER, { writable: false, reason: 'locked by its vendor' })
  t.match(await dry({}), { reason: 'device_not_writable', message: /locked by its vendor/ })
  t.match(await dry({ verb: 'look', params: {} }), { state: 'succeeded' })
  link.add(ROVER, { available: false, reason: 'no route' })
  t.match(await dry({ verb: 'look', params: {} }), { reason: 'device_unavailable' })
  const stop = createCommand({ verb: 'stop', params: {}, hazard: 'safe' })
  t.match(await obey(stop), { state: 'succeeded' }, 'a stop is tried in any case')
})

t.test('a verb waits until an overtaken one has brought the device to rest', async t => {
  const { executor, acks, plan, approve, createCommand, link } = await cellWithCart(t)
  const planned = await plan()
  const atRest = Promise.withResolvers<void>()
  const order: string[] = []
  link.execution = async ([operation], { signal }) => {
    if (operation === 'stop') return null
    order.push('moves')
    if (order.length > 1) return null
    await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
    await atRest.promise
    order.push('at rest')
    throw new Error('stopped')
  }
  await executor.receive(approve(planned))
  while (order.length === 0) await new Promise(setImmediate)
  await executor.receive(createCommand({ verb: 'stop', params: {}, hazard: 'safe' }))
  await executor.receive(approve(planned))
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  t.strictSame(order, ['moves'])
  atRest.resolve()
  await executor.waitUntilIdle()
  t.strictSame(order, ['moves', 'at rest', 'moves'])
  t.ok(acks.some(({ reason }) => reason === 'overtaken'))
})

t.test(
  'a device that is withdrawn while its verb runs is stopped before the verb ends',
  async t => {
    const { executor, acks, plan, approve, link, host } = await cellWithCart(t)
    const planned = await plan()
    const begun = Promise.withResolvers<void>()
    const stoppable = createStoppableDevices(host)
    const order: unknown[] = []
    link.execution = async (_operations, { signal }) => {
      begun.resolve()
      await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
      order.push(['aborted', [...link.stopped], stoppable.listDevices().map(one => one.deviceId)])
      await stoppable.stopDevice(ROVER, 'hold')
      throw new Error('stopped')
    }
    await executor.receive(approve(planned))
    await begun.promise
    link.remove(ROVER)
    await executor.waitUntilIdle()
    t.strictSame(order, [['aborted', [ROVER], [ROVER]]], 'and an e-stop still reaches it')
    t.strictSame(link.stopped, [ROVER, ROVER])
    t.match(acks.at(-1), { state: 'failed', reason: 'device_withdrawn' })
    t.strictSame(stoppable.listDevices(), [])
  },
)

t.test(
  'a device that is withdrawn is not stopped by a verb that reads or has not begun',
  async t => {
    const { executor, acks, createCommand, link } = await cellWithCart(t)
    const begun = Promise.withResolvers<void>()
    link.execution = async (_operations, { signal }) => {
      begun.resolve()
      await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
      throw new Error('no answer')
    }
    await executor.receive(createCommand({ verb: 'look', params: {}, hazard: 'read' }))
    await begun.promise
    const [device] = link.devices
    link.remove(ROVER)
    await executor.waitUntilIdle()
    t.match(acks.at(-1), { state: 'failed', reason: 'device_withdrawn' })
    if (device === undefined) throw new Error('no device')
    const hosted = { device, link, site: undefined, limits: [] }
    t.match(watchPresence(hosted, 'unsafe').signal, {
      aborted: true,
      reason: { reason: 'device_withdrawn', message: /before this began/ },
    })
    t.strictSame(link.stopped, [])
  },
)

t.test('a verb that had to wait for its device is checked once more', async t => {
  const config = { envelope: { min_battery_to_start_percent: 20 } }
  const { executor, acks, plan, approve, createCommand, link } = await cellWithCart(t, config)
  const planned = await plan()
  const atRest = Promise.withResolvers<void>()
  const order: string[] = []
  runUntilAborted(link, order, () => atRest.promise)
  await executor.receive(approve(planned))
  while (order.length === 0) await new Promise(setImmediate)
  const moving = link.execution
  link.execution = async () => null
  await executor.receive(createCommand({ verb: 'stop', params: {}, hazard: 'safe' }))
  link.execution = moving
  await executor.receive(approve(planned))
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
  link.set(ROVER, NOW, { battery_percent: 5, x_m: 0, y_m: 0, speed_m_s: 0 })
  atRest.resolve()
  await executor.waitUntilIdle()
  t.strictSame(order, ['moves', 'at rest'])
  t.match(acks.at(-1), { reason: 'precondition_failed', message: /battery_percent is 5/ })
})

/** A run that goes on until its signal aborts, and notes the end. */
const runUntilAborted = (link: FakeLink, order: string[], rest: () => Promise<void>) => {
  link.execution = async (_operations, { signal }) => {
    order.push('moves')
    await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
    await rest()
    order.push('at rest')
    throw new Error('aborted')
  }
}

t.test('a device below its limit does not start, and the value is named', async t => {
  const { obey, plan, approve, link } = await cellWithCart(t, {
    envelope: { min_battery_to_start_percent: 50 },
  })
  const dry = await plan()
  t.match(dry.checks, [{ name: 'battery_percent', observed: 80, limit: 50, source: 'cell' }])
  link.set(ROVER, NOW, { battery_percent: 40 })
  t.match(await obey(approve(dry)), {
    reason: 'precondition_failed',
    message: 'battery_percent is 40, but must be at least 50 (set by the cell)',
  })
  t.strictSame(link.executed, [])
})

t.test('a motion ends when a limit no longer holds, with the reason', async t => {
  const { executor, acks, plan, approve, link } = await cellWithCart(t, {
    envelope: {
      min_battery_to_continue_percent: 20,
      geofences: [{ frame: 'local', area: AREA }],
    },
  })
  for (const [readings, message] of [
    [{ battery_percent: 19 }, /^battery_percent is 19.*a stop was ordered$/],
    [{ battery_percent: 80, x_m: 11 }, /^geofence_margin_m is -1.*a stop was ordered$/],
    [
      { x_m: null },
      /^geofence_margin_m is unknown or stale, but must be above 0.*a stop was ordered$/,
    ],
  ] as const) {
    link.set(ROVER, NOW, { battery_percent: 80, x_m: 0 })
    const order: string[] = []
    runUntilAborted(link, order, async () => {})
    await executor.receive(approve(await plan()))
    while (order.length === 0) await new Promise(setImmediate)
    link.set(ROVER, NOW, readings)
    await executor.waitUntilIdle()
    t.match(acks.at(-1), { state: 'failed', reason: 'envelope_violated', message })
    t.strictSame(order, ['moves', 'at rest'])
  }
})

t.test('links live on at the end of the daemon until their devices are at rest', async t => {
  const { executor, stop, plan, approve, link, host } = await cellWithCart(t)
  const order: string[] = []
  const atRest = Promise.withResolvers<void>()
  link.onEnd = () => order.push('link ends')
  host.start(stop.signal)
  runUntilAborted(link, order, () => atRest.promise)
  await executor.receive(approve(await plan()))
  while (order.length === 0) await new Promise(setImmediate)
  stop.abort()
  await new Promise(setImmediate)
  atRest.resolve()
  while (order.length < 3) await new Promise(setImmediate)
  t.strictSame(order, ['moves', 'at rest', 'link ends'])
})
