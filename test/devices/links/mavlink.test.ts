import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import type { DeviceFailure } from '../../../devices/device-failure.ts'
import type { DeviceLink, ExecuteContext } from '../../../devices/device-link.ts'
import { MavlinkLinkConfig } from '../../../devices/links/mavlink/config.ts'
import { parseConnection } from '../../../devices/links/mavlink/connection.ts'
import { FairRate } from '../../../devices/links/mavlink/fair-rate.ts'
import { encodeFrame } from '../../../devices/links/mavlink/frame.ts'
import { GLOBAL_POSITION_INT, STATUSTEXT } from '../../../devices/links/mavlink/messages.ts'
import { ModeWatch } from '../../../devices/links/mavlink/mode-watch.ts'
import { nameMode } from '../../../devices/links/mavlink/modes.ts'
import { openMavlinkLink } from '../../../devices/links/mavlink/open.ts'
import { createModeCommand } from '../../../devices/links/mavlink/operations.ts'
import { OverspeedWatch } from '../../../devices/links/mavlink/overspeed.ts'
import { Telemetry } from '../../../devices/links/mavlink/telemetry.ts'
import type { Vehicle } from '../../../devices/links/mavlink/vehicle.ts'
import { findVehicleKind } from '../../../devices/links/mavlink/vehicle-kind.ts'
import { VehicleRun } from '../../../devices/links/mavlink/vehicle-run.ts'
import type { Json } from '../../../devices/profile.ts'
import copter from '../../../devices/profiles/copter.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { CRITICAL_GATE } from '../../../shared/wire/plan-part.ts'
import { type LinkBench, testDeviceLink } from '../../contracts/device-link.ts'
import { silent } from '../../support/cell.ts'
import { createLinkContext } from '../../support/link-context.ts'
import { waitUntil } from '../../support/wait-until.ts'
import {
  BRAKE,
  findUdpPort,
  GUIDED,
  LAND,
  LOITER,
  RTL,
  STABILIZE,
  StandInCopter,
} from './stand-in-copter.ts'

const DATAGRAMS_OF_STRANGERS = 200
const DATAGRAMS_PER_VEHICLE = 300

const GO_TO = { lat: 48.1003, lon: 11.5004, altitude_m: 20, speed_m_s: 3.3 }

interface Rig {
  link: DeviceLink
  port: number
  copter: StandInCopter
  deviceId: string
  end(): void
  read(property: string): unknown
}

/** A scope of this machine alone. */
const resolveHost = async (host: string): Promise<string> => {
  if (host === '127.0.0.1') return host
  throw new ShoalError('scope_denied', `${host} is not in devices.scope`)
}

/** Monotonic clock that shortens the waits for messages that never arrive. */
const FAST = { nowMs: () => performance.now() * 5 }
/** Faster clock for tests of silence, which lasts through every repetition. */
const FASTER = { nowMs: () => performance.now() * 20 }

const openRig = async (t: Test, config: object = {}, context: object = {}): Promise<Rig> => {
  const port = await findUdpPort()
  const connection = `udp:127.0.0.1:${port}`
  const vehicles = [{ name: 'kestrel', system_id: 1 }]
  const parsed = MavlinkLinkConfig.parse({ kind: 'mavlink', connection, vehicles, ...config })
  const link = openMavlinkLink(parsed, createLinkContext(t, { resolveHost, ...context }))
  const end = new AbortController()
  t.teardown(() => end.abort())
  link.start(end.signal)
  const standIn = new StandInCopter(t, port)
  const deviceId = link.list()[0]?.deviceId ?? ''
  const read = (property: string): unknown => link.readState(deviceId)?.readings[property]?.value
  return { link, port, copter: standIn, deviceId, end: () => end.abort(), read }
}

const waitForVehicle = ({ link, read }: Rig): Promise<unknown> =>
  waitUntil(
    'the vehicle is there',
    () => link.list()[0]?.writable === true && read('launch_lat') !== undefined && read('mode'),
  )

/** Lets the copter hover above its launch. */
const fly = async (rig: Rig): Promise<void> => {
  Object.assign(rig.copter.state, { altitude_m: 20, base_mode: 0xd1, custom_mode: GUIDED })
  await waitUntil('it flies', () => rig.read('mode') === 'guided' && rig.read('is_armed') === true)
  await waitUntil('it is up', () => rig.read('altitude_m') === 20)
}

const openBench = async (t: Test): Promise<LinkBench> => {
  const rig = await openRig(t, {}, FAST)
  await waitForVehicle(rig)
  const { link, copter, end } = rig
  return {
    link,
    listReceived: () => copter.listReceived(),
    hang: () => {
      copter.isHanging = true
    },
    hasStopped: () => [BRAKE, LAND].includes(copter.state.custom_mode),
    end,
  }
}

testDeviceLink(t, {
  open: openBench,
  uses: [
    { device: 'kestrel', verb: 'arm', params: {} },
    { device: 'kestrel', verb: 'take-off', params: { altitude_m: 10 } },
    { device: 'kestrel', verb: 'go-to', params: GO_TO },
    { device: 'kestrel', verb: 'set-mode', params: { mode: 'loiter' } },
    { device: 'kestrel', verb: 'return-to-launch', params: {} },
    { device: 'kestrel', verb: 'land', params: {} },
    { device: 'kestrel', verb: 'hold', params: {} },
    { device: 'kestrel', verb: 'stop', params: {} },
    { device: 'kestrel', verb: 'disarm', params: {} },
  ],
  hanging: { device: 'kestrel', verb: 'go-to', params: GO_TO },
})

const executeVerb = (
  { link, deviceId }: Rig,
  verb: string,
  params: Record<string, Json>,
  report: ExecuteContext['report'] = () => {},
  signal = new AbortController().signal,
) => {
  const device = link.list()[0]
  const found = device?.profile.verbs[verb]
  if (device === undefined || found === undefined) throw new Error(`no verb ${verb}`)
  const target = { device_id: deviceId, options: device.options, envelope: {} }
  const { operations, motion, bounds = {} } = found.plan(found.params.parse(params), target)
  const context = { signal, report, bounds: { ...bounds, ...(motion && { motion }) } as never }
  return link.execute(deviceId, operations, context)
}

t.test('a connection is udp:HOST:PORT and nothing else', async t => {
  t.strictSame(parseConnection('udp:127.0.0.1:14550'), { host: '127.0.0.1', port: 14_550 })
  t.strictSame(parseConnection('udp:[::1]:14550'), { host: '::1', port: 14_550 })
  t.strictSame(parseConnection('udp:drone.example:1'), { host: 'drone.example', port: 1 })
  for (const wrong of [
    '',
    'udp:',
    'tcp:127.0.0.1:14550',
    'udp:127.0.0.1',
    'udp:127.0.0.1:0',
    'udp:127.0.0.1:65536',
    'udp::14550',
    'udp:-h:1',
    'udp:[dead]:1',
    'udp:a b:1',
    'udp:127.0.0.1:14550:9',
    'udp:127.0.0.1:14550\n',
  ])
    t.equal(parseConnection(wrong), undefined, wrong)
})

t.test('the frames of a vehicle become its readings', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  const { link, copter, read, deviceId } = rig
  copter.send(STATUSTEXT, { severity: 6, text: 'all is well' })
  copter.send(STATUSTEXT, { severity: 4, text: 'Low\u001b battery' })
  await waitUntil('the warning arrives', () => read('warning'))
  t.match(
    Object.fromEntries(
      Object.entries(link.readState(deviceId)?.readings ?? {}).map(([name, { value }]) => [
        name,
        value,
      ]),
    ),
    {
      vehicle_type: 'quadrotor',
      autopilot: 'ardupilot',
      is_armed: false,
      mode: 'stabilize',
      system_status: 'active',
      gps_fix: '3d',
      satellites: 12,
      hdop: 0.8,
      battery_percent: 76,
      lat: 48.1,
      lon: 11.5,
      altitude_m: 0,
      speed_m_s: 0,
      heading_degrees: 90,
      landed_state: 'on_ground',
      is_ready_to_arm: true,
      is_ekf_healthy: true,
      is_fence_breached: false,
      is_taken_over: false,
      battery_volts: 15.9,
      launch_altitude_amsl_m: 500,
      link_quality_percent: 100,
      warning: 'Low\\u{1b} battery',
    },
  )
})

t.test('frames of other systems, of other senders and with damage change nothing', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  const { copter, port, read } = rig
  const position = { lat: 10_000_000, lon: 10_000_000, relative_alt: 9_000_000 }
  const intruder = new StandInCopter(t, port)
  intruder.state.lat = 1
  const otherSystem = new StandInCopter(t, port, 2)
  otherSystem.state.lat = 2
  const head = { sequence: 0, systemId: 1, componentId: 1, version: 2 } as const
  const damaged = encodeFrame(GLOBAL_POSITION_INT, position, head)
  damaged[12] = 0xff - (damaged[12] ?? 0)
  copter.sendBytes(damaged)
  copter.sendBytes(damaged.subarray(0, 20))
  copter.sendBytes(randomBytes(2000))
  copter.sendBytes(Buffer.alloc(4000, encodeFrame(GLOBAL_POSITION_INT, position, head)))
  copter.send(STATUSTEXT, { severity: 3, text: 'after all of them' })
  await waitUntil('the last frame arrives', () => read('warning') === 'after all of them')
  t.equal(read('lat'), 48.1)
  t.equal(read('altitude_m'), 0)
})

t.test('a flood takes nothing from the vehicles, whose share follows their number', async t => {
  const vehicle = { address: '127.0.0.1', port: 1 }
  const router = { address: '127.0.0.1', port: 2 }
  const rate = new FairRate(({ port }) => (port <= 2 ? port : 0))
  const countAllowed = (count: number, sender: (index: number) => typeof vehicle): number =>
    Array.from({ length: count }, (_, index) => rate.allows(sender(index), 0)).filter(Boolean)
      .length
  const strangers = (index: number) => ({ address: '127.0.0.1', port: 1000 + index })
  t.equal(countAllowed(10_000, strangers), DATAGRAMS_OF_STRANGERS)
  t.equal(
    countAllowed(1000, () => vehicle),
    DATAGRAMS_PER_VEHICLE,
  )
  t.equal(
    countAllowed(1000, () => router),
    2 * DATAGRAMS_PER_VEHICLE,
  )
  t.ok(rate.allows(vehicle, 1000), 'the next second is a new one')
})

t.test('lost frames lower the link quality', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  const { copter, read } = rig
  for (let count = 0; count < 60; count++) copter.skip()
  await waitUntil('the loss is counted', () => Number(read('link_quality_percent')) < 100)
})

t.test('a vehicle is not available before its heartbeat, and says so', async t => {
  const { link } = await openRig(t, { vehicles: [{ name: 'absent', system_id: 77 }] })
  await waitUntil('the port is bound', () => link.list()[0]?.reason?.includes('heartbeat'))
  t.match(link.list()[0], {
    available: false,
    reason: 'no heartbeat has arrived yet',
    profile: { id: 'mavlink-vehicle', atEstop: 'hold' },
  })
  await t.rejects(link.stop(link.list()[0]?.deviceId ?? '', 'land'), {
    name: 'DeviceFailure',
    reason: 'cell_unavailable',
  })
})

t.test('an address out of the scope is not bound', async t => {
  const { link } = await openRig(t, { connection: 'udp:192.0.2.1:14550' })
  await waitUntil('the refusal', () => link.list()[0]?.reason?.includes('devices.scope'))
  t.match(link.list()[0], { available: false })
})

t.test('a sender out of the scope is not pinned', async t => {
  let asked = 0
  const resolveFirst = (host: string) => resolveHost(asked++ === 0 ? host : '192.0.2.1')
  const { link } = await openRig(t, {}, { resolveHost: resolveFirst })
  await waitUntil('the refusal', () => link.list()[0]?.reason?.includes('devices.scope'))
  t.match(link.list()[0], { available: false })
})

t.test('a refusal has the reason of the autopilot, joined from its chunks', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  rig.copter.send(STATUSTEXT, { severity: 2, text: 'PreArm: of an earlier command' })
  await waitUntil('the earlier text arrives', () => rig.read('warning'))
  rig.copter.answer = () => {
    const text = 'Arm: Compass not calibrated, and the throttle is t'
    rig.copter.send(STATUSTEXT, { severity: 2, id: 7, chunk_seq: 0, text })
    rig.copter.send(STATUSTEXT, { severity: 2, id: 7, chunk_seq: 1, text: 'oo high' })
    return 4
  }
  const reason = 'Arm: Compass not calibrated, and the throttle is too high'
  await t.rejects(executeVerb(rig, 'arm', {}), {
    reason: 'conflict',
    message: `the vehicle refused COMPONENT_ARM_DISARM: failed (${reason})`,
    outcome: {
      asked: { sent: [{ name: 'arm', answer: /failed/ }] },
      seen: { values: { autopilot_texts: [reason] } },
    },
  })
})

t.test('a text of the autopilot is cut in bytes, also within a character', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  const text = 'Fence of the yard is breached by 5 m at heading 1°, and it turns back — now'
  const bytes = Buffer.from(text)
  const chunks = [bytes.subarray(0, 50), bytes.subarray(50)]
  t.notSame(chunks[0]?.at(-1), bytes.at(-1), 'the degree sign lies on both')
  for (const [chunk_seq, chunk] of chunks.entries())
    rig.copter.send(STATUSTEXT, { severity: 2, id: 9, chunk_seq, text: chunk.toString('latin1') })
  await waitUntil('the text arrives', () => rig.read('warning'))
  t.equal(rig.read('warning'), text)
})

t.test('a command is sent again while nothing of it is seen, and a late answer counts', async t => {
  const rig = await openRig(t, {}, FAST)
  await waitForVehicle(rig)
  rig.copter.answer = (_command, attempt) => (attempt < 2 ? undefined : 0)
  await executeVerb(rig, 'set-mode', { mode: 'loiter' })
  t.equal(rig.copter.received.length, 3)
  await executeVerb(rig, 'arm', {})
  t.equal(rig.copter.received.length, 6, 'the heartbeat says that it is not armed')
  rig.copter.received.length = 0
  rig.copter.answer = () => undefined
  rig.copter.state.base_mode = 0xd1
  await waitUntil('it is armed', () => rig.read('is_armed') === true)
  const taking = executeVerb(rig, 'set-mode', { mode: 'stabilize' })
  await waitUntil('the second attempt arrives', () => rig.copter.received.length > 1)
  rig.copter.state.custom_mode = 0
  t.match(await taking, { seen: { state: 'reached', values: { mode: 'stabilize' } } })
})

t.test('an acknowledgement alone is no success', async t => {
  const rig = await openRig(t, {}, FAST)
  await waitForVehicle(rig)
  rig.copter.ignores = () => true
  const mode = executeVerb(rig, 'set-mode', { mode: 'loiter' })
  await t.rejects(mode, { reason: 'conflict', message: /acknowledged DO_SET_MODE, but nothing/ })
})

t.test('a command in progress is awaited and not repeated', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  rig.copter.answer = () => 5
  const done = executeVerb(rig, 'set-mode', { mode: 'loiter' })
  await waitUntil('the command arrives', () => rig.copter.received.length > 0)
  rig.copter.state.custom_mode = LOITER
  await done
  t.equal(rig.copter.received.length, 1)
})

t.test('a landing is not undone by the end of the flight that it interrupts', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  rig.copter.isHanging = true
  await fly(rig)
  const flight = t.rejects(executeVerb(rig, 'go-to', GO_TO), {
    name: 'DeviceFailure',
    reason: 'conflict',
  })
  await waitUntil('the flight begins', () => rig.copter.received.length === 4)
  rig.copter.isHanging = false
  await executeVerb(rig, 'land', {})
  await flight
  t.equal(rig.copter.state.custom_mode, LAND)
  t.equal(rig.copter.received.length, 5)
})

t.test('a return is a flight: it lasts until the landing, and an abort brakes', async t => {
  const rig = await openRig(t, {}, FAST)
  await waitForVehicle(rig)
  const { copter: vehicle, read } = rig
  await fly(rig)
  vehicle.isHanging = true
  for (const [verb, params] of [
    ['return-to-launch', {}],
    ['set-mode', { mode: 'rtl' }],
  ] as const) {
    const end = new AbortController()
    const flight = t.rejects(
      executeVerb(rig, verb, params, () => {}, end.signal),
      { name: 'DeviceFailure', reason: 'request_timeout', outcome: { seen: { state: 'at_rest' } } },
    )
    await waitUntil('it returns', () => read('mode') === 'rtl' && read('speed_m_s') === 3)
    end.abort(new ShoalError('request_timeout', 'the time is over'))
    await flight
    t.equal(vehicle.state.custom_mode, BRAKE, verb)
  }
  vehicle.isHanging = false
  await executeVerb(rig, 'return-to-launch', {})
  t.equal(vehicle.state.custom_mode, RTL)
  t.equal(read('is_armed'), false, 'it has landed')
})

t.test('a pilot who takes over ends a flight, and no repeated stop undoes that', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  const { link, deviceId, copter: vehicle } = rig
  await fly(rig)
  vehicle.isHanging = true
  const reports: unknown[] = []
  const done = executeVerb(rig, 'go-to', GO_TO, each => void reports.push(each))
  const flight = t.rejects(done, {
    name: 'DeviceFailure',
    reason: 'taken_over',
    message: /taken over: its mode is loiter/,
  })
  await waitUntil('the flight begins', () => reports.length > 0)
  vehicle.state.custom_mode = LOITER
  await flight
  t.equal(rig.read('is_taken_over'), true)
  await t.rejects(link.stop(deviceId, 'hold', { isRepeated: true }), {
    name: 'DeviceFailure',
    reason: 'taken_over',
  })
  t.equal(vehicle.state.custom_mode, LOITER)
  t.equal(vehicle.received.length, 4)
  t.match(await link.stop(deviceId, 'hold'), { asked: { sent: [{ name: 'set-mode brake' }] } })
  t.equal(vehicle.state.custom_mode, BRAKE, 'a new stop of a person counts')
})

t.test('a stop goes down to the first mode that is accepted and has an effect', async t => {
  const rig = await openRig(t, {}, FAST)
  await waitForVehicle(rig)
  await fly(rig)
  rig.copter.state.refusedModes = [BRAKE, LOITER]
  t.match(await rig.link.stop(rig.deviceId, 'hold'), {
    asked: {
      sent: [
        { name: 'set-mode brake', answer: /refused/ },
        { name: 'set-mode loiter', answer: /refused/ },
        { name: 'set-mode land', answer: 'accepted' },
      ],
    },
    seen: { values: { mode: 'land' } },
  })
  t.match(await executeVerb(rig, 'hold', {}), { seen: { state: 'at_rest' } })
  await fly(rig)
  rig.copter.state.custom_mode = LAND
  await waitUntil('a failsafe lands it', () => rig.read('mode') === 'land')
  t.match(await rig.link.stop(rig.deviceId, 'hold'), {
    asked: { sent: [{ name: /brake/ }, { name: /loiter/ }, { name: 'set-mode land' }] },
    seen: { values: { mode: 'land' } },
  })
})

t.test(
  'an unanswered stop tries modes that keep the place, and lands on a refusal only',
  async t => {
    const rig = await openRig(t, {}, FASTER)
    await waitForVehicle(rig)
    await fly(rig)
    rig.copter.answer = () => undefined
    const listAsked = async (behaviour: 'hold' | 'land') => {
      const stopped = rig.link.stop(rig.deviceId, behaviour)
      const { reason, outcome } = (await stopped.catch(error => error)) as DeviceFailure
      t.equal(reason, 'unconfirmed')
      return outcome.asked.sent
    }
    const [brake, loiter, land] = ['brake', 'loiter', 'land'].map(mode => ({
      name: `set-mode ${mode}`,
      answer: null,
    }))
    t.strictSame(await listAsked('hold'), [brake, loiter])
    t.strictSame(await listAsked('land'), [land])
    rig.copter.isSilent = true
    t.strictSame(await listAsked('hold'), [brake], 'without a heartbeat nothing is tried instead')
  },
)

t.test('a pilot who takes over while a stop is not answered is left alone', async t => {
  const rig = await openRig(t, {}, FASTER)
  await waitForVehicle(rig)
  await fly(rig)
  rig.copter.answer = () => undefined
  await t.rejects(rig.link.stop(rig.deviceId, 'hold'), {
    name: 'DeviceFailure',
    reason: 'unconfirmed',
  })
  rig.copter.answer = () => 0
  rig.copter.state.custom_mode = STABILIZE
  await waitUntil('the pilot is seen', () => rig.read('is_taken_over') === true)
  const sent = rig.copter.received.length
  const again = rig.link.stop(rig.deviceId, 'hold', { isRepeated: true })
  await t.rejects(again, { name: 'DeviceFailure', reason: 'taken_over' })
  t.equal(rig.copter.received.length, sent)
})

/** Tells whether an instruction with this text is on the disk and its mode was observed. */
const isWrittenAsSeen = (file: string, text: string): boolean => {
  const written = existsSync(file) ? readFileSync(file, 'utf8') : ''
  return written.includes(text) && written.includes('"was_seen":true')
}

t.test(
  'a stop that was not heard is repeated after a restart, unless a pilot is there',
  async t => {
    const { stateDir } = createLinkContext(t)
    const dead = await openRig(t, {}, { ...FASTER, stateDir })
    await waitForVehicle(dead)
    await fly(dead)
    dead.copter.answer = () => undefined
    const unheard = dead.link.stop(dead.deviceId, 'hold', { estopIds: ['est_a'] })
    await t.rejects(unheard, { name: 'DeviceFailure', reason: 'unconfirmed' })
    dead.end()
    const restart = async (mode: number) => {
      const rig = await openRig(t, {}, { stateDir })
      await fly(rig)
      rig.copter.state.custom_mode = mode
      await waitUntil('the mode is seen', () => rig.read('mode') === nameMode(2, 3, mode))
      const context = { isRepeated: true, estopIds: ['est_a'] }
      return { rig, stopped: rig.link.stop(rig.deviceId, 'hold', context) }
    }
    const piloted = await restart(STABILIZE)
    await t.rejects(piloted.stopped, { name: 'DeviceFailure', reason: 'taken_over' })
    piloted.rig.end()
    const flying = await restart(GUIDED)
    t.match(await flying.stopped, {
      asked: { sent: [{ name: 'set-mode brake', answer: 'accepted' }] },
    })
  },
)

t.test('a pilot who takes over while the daemon is dead is left alone', async t => {
  const { stateDir } = createLinkContext(t)
  const dead = await openRig(t, {}, { stateDir })
  await waitForVehicle(dead)
  await fly(dead)
  dead.copter.isHanging = true
  let hasBegun = false
  const flight = executeVerb(dead, 'go-to', GO_TO, () => {
    hasBegun = true
  })
  flight.catch(() => {})
  await waitUntil('the flight begins', () => hasBegun)
  const restart = async (mode: number) => {
    const rig = await openRig(t, {}, { stateDir })
    await fly(rig)
    rig.copter.state.custom_mode = mode
    await waitUntil('the mode is seen', () => rig.read('mode') === nameMode(2, 3, mode))
    const stopped = rig.link.stop(rig.deviceId, 'hold', { isRepeated: true })
    return { rig, stopped }
  }
  const piloted = await restart(STABILIZE)
  await t.rejects(piloted.stopped, {
    name: 'DeviceFailure',
    reason: 'taken_over',
    message: 'kestrel was taken over: its mode is stabilize',
  })
  t.strictSame(piloted.rig.copter.listCommands(), [])
  t.equal(piloted.rig.read('is_taken_over'), true)
  const flying = await restart(GUIDED)
  t.match(await flying.stopped, { asked: { sent: [{ name: 'set-mode brake' }] } })
  const file = join(stateDir, 'mavlink-modes', dead.deviceId)
  await waitUntil('the stop is on the disk', () => isWrittenAsSeen(file, 'brake'))
  const braked = await restart(GUIDED)
  await t.rejects(braked.stopped, { name: 'DeviceFailure', reason: 'taken_over' })
  t.match(await braked.rig.link.stop(braked.rig.deviceId, 'hold'), {
    asked: { sent: [{ name: 'set-mode brake', answer: 'accepted' }] },
  })
})

t.test('an e-stop that was never sent to a vehicle is not a repetition', async t => {
  const { stateDir } = createLinkContext(t)
  const dead = await openRig(t, {}, { stateDir })
  await waitForVehicle(dead)
  await fly(dead)
  await dead.link.stop(dead.deviceId, 'hold')
  const file = join(stateDir, 'mavlink-modes', dead.deviceId)
  const hasWritten = (text: string) => waitUntil('it is there', () => isWrittenAsSeen(file, text))
  await hasWritten('brake')
  dead.end()
  const restart = async (estopIds: string[]) => {
    const rig = await openRig(t, {}, { stateDir })
    await fly(rig)
    rig.copter.state.custom_mode = STABILIZE
    await waitUntil('the pilot is seen', () => rig.read('is_taken_over') === true)
    return { rig, stopped: rig.link.stop(rig.deviceId, 'hold', { isRepeated: true, estopIds }) }
  }
  for (const estopIds of [['est_a'], ['est_a', 'est_b']]) {
    const unsent = await restart(estopIds)
    t.match(await unsent.stopped, { asked: { sent: [{ name: 'set-mode brake' }] } })
    await hasWritten(JSON.stringify(estopIds))
    unsent.rig.end()
    const sent = await restart(estopIds)
    await t.rejects(sent.stopped, { name: 'DeviceFailure', reason: 'taken_over' })
    t.strictSame(sent.rig.copter.listCommands(), [])
    sent.rig.end()
  }
})

const NOTHING_WRITTEN = { modes: [], own: [], was_seen: false, estop_ids: [] }

t.test('a pilot who takes over while the modes are written is sent nothing', async t => {
  const disk = Promise.withResolvers<void>()
  const kind = findVehicleKind(2, 3)
  const readings: Record<string, { value: Json }> = {
    mode: { value: 'loiter' },
    is_armed: { value: true },
  }
  const vehicle = { kind, readings, note: () => {}, ids: {} } as unknown as Vehicle
  const file = { read: async () => NOTHING_WRITTEN, replace: () => disk.promise }
  const modes = new ModeWatch({ vehicle, file, logger: silent })
  const asked: unknown[] = []
  const exchange = { perform: async (operation: unknown) => void asked.push(operation) }
  const parts = { name: 'kestrel', vehicle, kind, exchange, modes, nowMs: () => 0 }
  const run = new VehicleRun(parts as never)
  modes.begin()
  const target = { target_system: 1, target_component: 1, kind }
  const command = createModeCommand(target as never, 'guided')
  const bounds = { modes: ['guided'], goal: { kind: 'position' } } as never
  run.mayMove = true
  const done = run.performFirst([command], bounds, new AbortController().signal)
  readings.mode = { value: 'stabilize' }
  modes.noteHeartbeat()
  disk.resolve()
  await t.rejects(done, { code: 'conflict', message: 'kestrel was taken over' })
  t.strictSame(asked, [])
})

t.test('a stop is not repeated to a vehicle whose motors are off', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  const { link, deviceId, copter: vehicle } = rig
  t.match(await link.stop(deviceId, 'hold', { isRepeated: true }), { asked: { sent: [] } })
  t.strictSame(vehicle.listCommands(), [])
})

t.test('what a position filter guesses is no reading', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  t.equal(rig.read('lat'), 48.1)
  rig.copter.state.ekf_flags = 0xa7
  await waitUntil('the filter has no position', () => rig.read('is_ekf_healthy') === false)
  await waitUntil('nor has the vehicle', () => rig.read('lat') === null)
  t.equal(rig.read('speed_m_s'), null)
  t.equal(rig.read('altitude_m'), 0, 'the altitude is that of the pressure')
})

t.test(
  'a position without new fixes is not a reading while the filter still calls itself healthy',
  async t => {
    const rig = await openRig(t, {}, FAST)
    await waitForVehicle(rig)
    await fly(rig)
    rig.copter.state.hasNewFixes = false
    await waitUntil('the loss is seen', () => rig.read('speed_m_s') === null)
    t.match([rig.read('gps_fix'), rig.read('is_ekf_healthy')], ['3d', true])
    t.equal(rig.read('lat'), null)
    const { seen } = await rig.link.stop(rig.deviceId, 'hold')
    t.match(seen, { state: 'unknown', values: { mode: 'brake' } })
    rig.copter.state.hasNewFixes = true
    await waitUntil('the position is back', () => rig.read('lat') === 48.1)
  },
)

t.test('a motion that is faster than approved is braked, and one gust is not', async t => {
  const limits = { overspeed_percent: 20, overspeed_m_s: 0.5, overspeed_ms: 1000 }
  const watch = new OverspeedWatch(3, limits)
  t.equal(Math.round(watch.limit_m_s * 10), 36)
  t.equal(new OverspeedWatch(1, limits).limit_m_s, 1.5)
  const isEnded = (samples: readonly (readonly [number, number])[]): boolean => {
    const one = new OverspeedWatch(3, limits)
    return samples.map(([speed, at]) => one.isExceeded(speed, at)).includes(true)
  }
  const steady = Array.from({ length: 8 }, (_, index): [number, number] => [4, index * 200])
  t.ok(isEnded(steady))
  t.notOk(isEnded(steady.slice(0, 5)), 'not yet for a second')
  t.notOk(isEnded(steady.with(4, [3, 800])), 'not without interruption')
  t.notOk(
    isEnded([
      [80, 0],
      [3, 200],
      [3, 5000],
    ]),
    'a jump of the position',
  )
  const rig = await openRig(t, { vehicles: [{ name: 'kestrel', overspeed_ms: 200 }] })
  await waitForVehicle(rig)
  await fly(rig)
  rig.copter.isHanging = true
  const flight = t.rejects(executeVerb(rig, 'go-to', GO_TO), {
    name: 'DeviceFailure',
    reason: 'envelope_violated',
    message: /10.2 m.s, and 3.3 m.s/,
  })
  await waitUntil('the flight begins', () => rig.copter.received.length === 4)
  rig.copter.state.speed_m_s = 10.2
  await flight
  t.equal(rig.copter.state.custom_mode, BRAKE)
})

t.test('the speed follows the position, since the first position resets it', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  await fly(rig)
  await executeVerb(rig, 'go-to', GO_TO)
  t.strictSame(rig.copter.listCommands(), ['176:4', '178', '192', '178'])
})

t.test('a climb has ended at its altitude and at rest', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  rig.copter.isHanging = true
  const reports: string[] = []
  let isDone = false
  const climb = executeVerb(rig, 'launch', { altitude_m: 2 }, ({ message }) => {
    reports.push(message ?? '')
  }).then(() => {
    isDone = true
  })
  await waitUntil('it is armed', () => rig.copter.received.length === 3)
  t.strictSame(rig.copter.listCommands(), ['176:4', '400', '22'])
  rig.copter.state.altitude_m = 1.4
  rig.copter.state.speed_m_s = 0
  await waitUntil('it rests below', () => reports.filter(one => one === '1 m to go').length > 40)
  t.notOk(isDone)
  rig.copter.state.altitude_m = 2
  await climb
})

t.test('a take-off whose acknowledgements are lost or late is carried out', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  const { copter: vehicle } = rig
  vehicle.losesAcks = command => command === 22
  t.match(await executeVerb(rig, 'launch', { altitude_m: 10 }), {
    asked: {
      sent: [{ name: 'set-mode guided' }, { name: 'arm' }, { name: 'nav-takeoff', answer: null }],
    },
    seen: { state: 'reached', values: { altitude_m: 10 } },
  })
  t.equal(vehicle.listCommands().filter(one => one === '22').length, 1, 'it is not sent again')
})

t.test('a refusal of a take-off that was sent again is decided by what is seen', async t => {
  const rig = await openRig(t, {}, FAST)
  await waitForVehicle(rig)
  const { copter: vehicle } = rig
  vehicle.isHanging = true
  let taken = 0
  vehicle.answer = command => {
    if (command !== 22) return 0
    taken += 1
    if (taken === 1) return undefined
    setTimeout(() => Object.assign(vehicle.state, { altitude_m: 10, speed_m_s: 0 }), 100)
    return 4
  }
  t.match(await executeVerb(rig, 'launch', { altitude_m: 10 }), {
    asked: { sent: [{}, {}, { name: 'nav-takeoff', answer: 'failed' }] },
    seen: { state: 'reached' },
  })
})

t.test('a launch that fails on the ground leaves nothing armed', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  rig.copter.answer = command => (command === 22 ? 4 : 0)
  const launch = executeVerb(rig, 'launch', { altitude_m: 5 })
  await t.rejects(launch, { name: 'DeviceFailure', message: /refused NAV_TAKEOFF: failed/ })
  t.strictSame(rig.copter.listCommands(), ['176:4', '400', '22', '176:17', '400'])
  t.equal(rig.read('is_armed'), false)
})

t.test('a vehicle sends what it is asked for, and is asked again when that ends', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  const { copter: vehicle } = rig
  await waitUntil('all messages are asked for', () => vehicle.asked.size === 10)
  t.strictSame(vehicle.heartbeats, [], 'a heartbeat is sent only where it is configured')
  t.strictSame([...vehicle.senders], [243])
  vehicle.reboot()
  vehicle.asked.add(GLOBAL_POSITION_INT.id)
  await waitUntil('it is asked after the restart', () => vehicle.asked.size === 10)
  vehicle.asked.delete(GLOBAL_POSITION_INT.id)
  await waitUntil('it is asked for what stopped', () => vehicle.asked.has(GLOBAL_POSITION_INT.id))
})

t.test('a vehicle is asked for groups only where single messages have no effect', t => {
  const asked: number[] = []
  const groups: number[] = []
  const telemetry = new Telemetry({
    requestInterval: id => void asked.push(id),
    requestGroup: group => void groups.push(group),
  })
  for (let nowMs = 0; nowMs < 6000; nowMs += 500) telemetry.request('ardupilot', nowMs)
  t.strictSame(groups, [])
  const before = asked.length
  telemetry.note(GLOBAL_POSITION_INT.id, 8000)
  for (let nowMs = 8000; nowMs < 60_000; nowMs += 500) telemetry.request('ardupilot', nowMs)
  t.strictSame([...new Set(groups)].sort(), [10, 12, 2, 6].sort())
  t.ok(asked.length < before + 40, 'ever more seldom')
  t.end()
})

t.test('a cell that only listens asks for nothing, and one with a heartbeat sends it', async t => {
  const silent = await openRig(t, { request_telemetry: false })
  silent.copter.isStreaming = true
  const beating = await openRig(t, { heartbeat: true })
  await waitForVehicle(silent)
  await waitUntil('a heartbeat arrives', () => beating.copter.heartbeats.length > 0)
  t.match(beating.copter.heartbeats[0], { type: 6, autopilot: 8 })
  t.equal(silent.copter.asked.size, 0)
})

t.test('type and autopilot of the heartbeat decide what a vehicle is', async t => {
  for (const [type, autopilot, expected] of [
    [2, 3, 'copter'],
    [13, 12, 'copter'],
    [4, 3, 'copter'],
    [10, 3, 'rover'],
    [11, 3, 'rover'],
    [10, 12, 'rover'],
    [1, 3, 'plane'],
    [20, 12, 'plane'],
    [12, 3, 'sub'],
    [12, 12, undefined],
    [5, 3, undefined],
    [2, 4, undefined],
  ] as const)
    t.equal(findVehicleKind(type, autopilot)?.vehicleClass, expected, `${type} with ${autopilot}`)
  t.equal(nameMode(2, 3, 6), 'rtl')
  t.equal(nameMode(10, 3, 6), 'follow')
  t.equal(nameMode(10, 3, 11), 'rtl')
  t.equal(nameMode(1, 3, 11), 'rtl')
  t.equal(nameMode(12, 3, 9), 'surface')
  t.equal(nameMode(2, 12, 0x0304_0000), 'auto_loiter')
  t.equal(nameMode(2, 12, 17), 'mode_17')
  t.equal(nameMode(5, 3, 6), 'mode_6')
})

t.test('a vehicle is listed as what it is, and a plan for another one is void', async t => {
  const rig = await openRig(t, { vehicles: [{ name: 'kestrel', profile: 'copter' }] })
  const { link, copter: vehicle, deviceId } = rig
  t.match(link.list()[0], { profile: { id: 'copter' }, available: false })
  await waitForVehicle(rig)
  const plan = link
    .list()[0]
    ?.profile.verbs.arm?.plan(
      {},
      { device_id: deviceId, options: link.list()[0]?.options ?? {}, envelope: {} },
    )
  vehicle.state.type = 10
  const rover = await waitUntil('it is a rover', () =>
    link.list().find(({ profile }) => profile.id === 'rover'),
  )
  t.match(rover, { available: true, writable: false, reason: /rover .* names the profile copter/ })
  const context = { signal: new AbortController().signal, report: () => {} }
  const arming = link.execute(deviceId, plan?.operations ?? [], {
    ...context,
    bounds: plan?.bounds ?? {},
  })
  await t.rejects(arming, { code: 'conflict', message: /is now a rover/ })
  t.strictSame(vehicle.received, [])
  vehicle.state.custom_mode = 0
  t.match(await link.stop(deviceId, 'hold'), { asked: { sent: [{ name: 'set-mode hold' }] } })
  t.strictSame(vehicle.listCommands(), ['176:4'], 'HOLD of a rover is 4')
  const unknown = Object.keys(link.readState(deviceId)?.readings ?? {}).filter(
    name => !(name in rover.profile.properties),
  )
  t.strictSame(unknown, [], 'a rover has no altitude')
  vehicle.state.type = 5
  const other = await waitUntil('it is an antenna', () =>
    link.list().find(({ profile }) => profile.id === 'mavlink-vehicle'),
  )
  t.match(other, { writable: false, reason: /antenna_tracker with ardupilot, which can only be/ })
  await t.rejects(link.stop(deviceId, 'hold'), {
    name: 'DeviceFailure',
    reason: 'conflict',
    message: /can only be read/,
  })
})

t.test('PX4 has its modes in two parameters, and altitudes above sea level', async t => {
  const rig = await openRig(t)
  const { copter: vehicle } = rig
  vehicle.state.autopilot = 12
  await waitForVehicle(rig)
  Object.assign(vehicle.state, { base_mode: 0xd1, altitude_m: 20, custom_mode: 0x0304_0000 })
  await waitUntil('it loiters', () => rig.read('mode') === 'auto_loiter')
  vehicle.answer = () => 0
  await executeVerb(rig, 'hold', {})
  // a change to the mode that it has is acknowledged and stops nothing
  t.match(vehicle.received[0], { message: 'COMMAND_LONG', fields: { command: 192, param2: 1 } })
  for (const field of ['param4', 'param5', 'param6', 'param7'])
    t.ok(Number.isNaN(vehicle.received[0]?.fields[field]), field)
  const flight = executeVerb(rig, 'go-to', GO_TO)
  await waitUntil('it is sent there', () => vehicle.received.length > 1)
  Object.assign(vehicle.state, { lat: GO_TO.lat, lon: GO_TO.lon, altitude_m: GO_TO.altitude_m })
  await flight
  const { fields } = vehicle.received[1] ?? {}
  t.match(fields, { command: 192, param1: Math.fround(3.3), param2: 1, frame: 0, z: 520 })
  t.ok(Number.isNaN(fields?.param4), 'it keeps its heading')
})

t.test('a climb has ended once a heartbeat shows its mode, and not that of before', async t => {
  const rig = await openRig(t)
  const { copter: vehicle } = rig
  Object.assign(vehicle.state, { autopilot: 12, custom_mode: 0x0504_0000 })
  await waitForVehicle(rig)
  vehicle.answer = command => (command === 22 ? undefined : 0)
  const reports: string[] = []
  let isDone = false
  const climb = executeVerb(rig, 'launch', { altitude_m: 10 }, ({ message }) => {
    reports.push(message ?? '')
  }).then(() => {
    isDone = true
  })
  await waitUntil('it is sent up', () => vehicle.listCommands().includes('22'))
  vehicle.state.altitude_m = 10
  await waitUntil('it rests there', () => reports.filter(one => one === '0 m to go').length > 40)
  t.equal(rig.read('mode'), 'auto_rtl')
  t.notOk(isDone)
  vehicle.state.custom_mode = 0x0304_0000
  await climb
})

t.test('each vehicle of the documented example can return', async t => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/devices.md'), 'utf8')
  const [, example = ''] = page.split('### MAVLink')[1]?.split('```') ?? []
  const { devices } = parse(example.replace(/^yaml/, ''))
  const config = MavlinkLinkConfig.parse(devices.links[0])
  const link = openMavlinkLink(config, createLinkContext(t, { resolveHost }))
  t.equal(link.list().length, 2)
  for (const { name, envelope = {}, options, profile } of link.list()) {
    const kind = { vehicle_type: 'quadrotor', autopilot: 'ardupilot', can_hover: true }
    const known = { ...options, ...kind, vehicle_class: profile.id }
    const target = { device_id: name, options: known, envelope }
    const motion = profile.verbs['return-to-launch']?.plan({}, target).motion
    t.ok(Number(motion?.max_speed_m_s) <= (envelope.max_speed_m_s ?? Infinity), name)
  }
})

t.test('arming, and flying out of a geofence, need two persons', async t => {
  t.equal(copter.verbs.launch?.gate, CRITICAL_GATE, 'that of its highest part')
  t.equal(copter.verbs.arm?.gate, CRITICAL_GATE)
  t.equal(copter.verbs.disarm?.gate, CRITICAL_GATE)
  const goTo = copter.verbs['go-to']
  t.equal(goTo?.gateOf?.(goTo.params.parse(GO_TO)), undefined)
  const over = goTo?.params.parse({ ...GO_TO, override_geofence: true })
  t.equal(goTo?.gateOf?.(over ?? {}), CRITICAL_GATE)
})
