import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import type { DeviceLink, ExecuteContext } from '../../../devices/device-link.ts'
import { MavlinkLinkConfig } from '../../../devices/links/mavlink/config.ts'
import { parseConnection } from '../../../devices/links/mavlink/connection.ts'
import { encodeFrame } from '../../../devices/links/mavlink/frame.ts'
import {
  MAX_DATAGRAMS_PER_SECOND,
  MavlinkSocket,
} from '../../../devices/links/mavlink/mavlink-socket.ts'
import { GLOBAL_POSITION_INT, STATUSTEXT } from '../../../devices/links/mavlink/messages.ts'
import { openMavlinkLink } from '../../../devices/links/mavlink/open.ts'
import type { Json } from '../../../devices/profile.ts'
import copter from '../../../devices/profiles/copter.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { CRITICAL_GATE } from '../../../shared/wire/plan-part.ts'
import { type LinkBench, testDeviceLink } from '../../contracts/device-link.ts'
import { createLinkContext } from '../../support/link-context.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { BRAKE, findUdpPort, LAND, RTL, StandInCopter } from './stand-in-copter.ts'

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
    () => link.list()[0]?.available === true && read('altitude_m') !== undefined,
  )

const openBench = async (t: Test): Promise<LinkBench> => {
  const rig = await openRig(t)
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
  const found = copter.verbs[verb]
  if (device === undefined || found === undefined) throw new Error(`no verb ${verb}`)
  const target = { device_id: deviceId, options: device.options, envelope: {} }
  const { operations, bounds = {} } = found.plan(found.params.parse(params), target)
  const context = { signal, report, bounds }
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
      speed_m_s: 3,
      heading_degrees: 90,
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

t.test('a flood is processed up to its limit', async t => {
  const port = await findUdpPort()
  const received: number[] = []
  const end = new AbortController()
  const socket = new MavlinkSocket({
    resolve: async () => ({ address: '127.0.0.1', port }),
    nowMs: () => 0,
    onFrame: ({ sequence }) => void received.push(sequence),
    onFault: () => {},
  })
  t.teardown(() => end.abort())
  void socket.run(end.signal)
  const copter = new StandInCopter(t, port)
  let rounds = 0
  await waitUntil('far more than the limit is sent', () => {
    for (let count = 0; count < 100; count++) copter.beat()
    rounds += 1
    return rounds > 8 && received.length >= MAX_DATAGRAMS_PER_SECOND
  })
  t.equal(received.length, MAX_DATAGRAMS_PER_SECOND)
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
  t.match(link.list()[0], { available: false, reason: 'no heartbeat has arrived yet' })
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

t.test('a refusal of the vehicle is an error with its reason', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  rig.copter.answer = () => 2
  await t.rejects(executeVerb(rig, 'arm', {}), {
    reason: 'conflict',
    message: /ARM_DISARM: denied/,
  })
})

t.test('a command without an acknowledgement is retried only if it is idempotent', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  rig.copter.answer = (_command, attempt) => (attempt < 2 ? undefined : 0)
  await executeVerb(rig, 'set-mode', { mode: 'loiter' })
  t.equal(rig.copter.received.length, 3)
  await t.rejects(executeVerb(rig, 'arm', {}), { name: 'DeviceFailure', reason: 'request_timeout' })
  t.equal(rig.copter.received.length, 4)
})

t.test('a command in progress is awaited and not repeated', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  rig.copter.answer = () => 5
  const done = executeVerb(rig, 'set-mode', { mode: 'loiter' })
  await waitUntil('the command arrives', () => rig.copter.received.length > 0)
  rig.copter.acknowledge(176, 0)
  await done
  t.equal(rig.copter.received.length, 1)
})

t.test('a landing is not undone by the end of the flight that it interrupts', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  rig.copter.isHanging = true
  const flight = t.rejects(executeVerb(rig, 'go-to', GO_TO), {
    name: 'DeviceFailure',
    reason: 'conflict',
  })
  await waitUntil('the flight begins', () => rig.copter.received.length === 3)
  await executeVerb(rig, 'land', {})
  await flight
  t.equal(rig.copter.state.custom_mode, LAND)
  t.equal(rig.copter.received.length, 4)
})

t.test('a return is a flight: it lasts until the landing, and an abort brakes', async t => {
  const rig = await openRig(t, { heartbeat: true })
  await waitForVehicle(rig)
  const { copter: vehicle, read } = rig
  await waitUntil('the launch is known', () => read('launch_lat') === 48.1)
  vehicle.state.altitude_m = 20
  vehicle.isHanging = true
  await waitUntil('it flies', () => read('altitude_m') === 20)
  for (const [verb, params] of [
    ['return-to-launch', {}],
    ['set-mode', { mode: 'rtl' }],
  ] as const) {
    const end = new AbortController()
    const reports: unknown[] = []
    const flight = t.rejects(
      executeVerb(rig, verb, params, each => void reports.push(each), end.signal),
      { cause: { name: 'AbortError' } },
    )
    await waitUntil('it returns', () => reports.length > 0 && read('mode') === 'rtl')
    end.abort()
    await flight
    t.equal(vehicle.state.custom_mode, BRAKE, verb)
  }
  vehicle.isHanging = false
  await executeVerb(rig, 'return-to-launch', {})
  t.equal(vehicle.state.custom_mode, RTL)
  t.equal(read('altitude_m'), 0)
})

t.test('a pilot who takes over ends a flight, and the cell does not interfere', async t => {
  const rig = await openRig(t)
  await waitForVehicle(rig)
  rig.copter.isHanging = true
  const reports: unknown[] = []
  const done = executeVerb(rig, 'go-to', GO_TO, each => void reports.push(each))
  const flight = t.rejects(done, { reason: 'conflict', message: /taken over: its mode is loiter/ })
  await waitUntil('the flight begins', () => reports.length > 0)
  rig.copter.state.custom_mode = 5
  await flight
  t.equal(rig.copter.state.custom_mode, 5)
  t.equal(rig.copter.received.length, 3)
})

t.test('a heartbeat and questions are sent only where a heartbeat is configured', async t => {
  const silent = await openRig(t)
  const beating = await openRig(t, { heartbeat: true })
  await waitForVehicle(silent)
  await waitUntil('a heartbeat arrives', () => beating.copter.heartbeats.length > 0)
  t.match(beating.copter.heartbeats[0], { type: 6, autopilot: 8 })
  t.strictSame(silent.copter.heartbeats, [])
  await waitUntil('the launch is known', () => beating.read('launch_lat') === 48.1)
  t.equal(beating.copter.questions, 1)
  t.equal(silent.copter.questions, 0)
})

t.test('each vehicle of the documented example can return', async t => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/devices.md'), 'utf8')
  const [, example = ''] = page.split('### MAVLink')[1]?.split('```') ?? []
  const { devices } = parse(example.replace(/^yaml/, ''))
  const config = MavlinkLinkConfig.parse(devices.links[0])
  const link = openMavlinkLink(config, createLinkContext(t, { resolveHost }))
  t.equal(config.heartbeat, true, 'the launch is asked for')
  t.equal(link.list().length, 2)
  for (const { name, envelope = {}, options, profile } of link.list()) {
    const target = { device_id: name, options, envelope }
    const motion = profile.verbs['return-to-launch']?.plan({}, target).motion
    t.ok(Number(motion?.max_speed_m_s) <= (envelope.max_speed_m_s ?? Infinity), name)
  }
})

t.test('arming, and flying out of a geofence, need two persons', async t => {
  t.equal(copter.verbs.arm?.gate, CRITICAL_GATE)
  t.equal(copter.verbs.disarm?.gate, CRITICAL_GATE)
  const goTo = copter.verbs['go-to']
  t.equal(goTo?.gateOf?.(goTo.params.parse(GO_TO)), undefined)
  const over = goTo?.params.parse({ ...GO_TO, override_geofence: true })
  t.equal(goTo?.gateOf?.(over ?? {}), CRITICAL_GATE)
})
