import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import question from '../../../daemon/devices/questions/mavlink-status.ts'
import type { DeviceLink } from '../../../devices/device-link.ts'
import { MavlinkLinkConfig } from '../../../devices/links/mavlink/config.ts'
import { SYS_STATUS } from '../../../devices/links/mavlink/messages.ts'
import { openMavlinkLink } from '../../../devices/links/mavlink/open.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { MavlinkStatusAnswer } from '../../../shared/wire/mavlink-status.ts'
import { findUdpPort, StandInCopter } from '../../devices/links/stand-in-copter.ts'
import { createEnd, createLinkContext, createQuestionContext } from '../../support/link-context.ts'
import { waitUntil } from '../../support/wait-until.ts'

interface AskOptions {
  links?: readonly DeviceLink[]
  signal?: AbortSignal
}

const ask = async (
  t: Test,
  connection: string,
  { links = [], signal = createEnd(t) }: AskOptions = {},
): Promise<MavlinkStatusAnswer> => {
  const devices = links.flatMap(link =>
    link.list().map(device => ({ device, link, site: undefined, limits: [] })),
  )
  const context = createQuestionContext(createLinkContext(t), { devices, signal })
  for await (const event of question.ask({ connection }, context))
    if (event.type === 'item') return MavlinkStatusAnswer.parse(event.value)
  throw new Error('the question had no answer')
}

t.test('the status of a vehicle that is heard has its units and its age', async t => {
  const port = await findUdpPort()
  const copter = new StandInCopter(t, port)
  copter.state.base_mode |= 0x80
  copter.state.custom_mode = 5
  copter.state.speed_m_s = 3
  copter.isStreaming = true

  const timer = setInterval(() => {
    copter.send(SYS_STATUS, { battery_remaining: 76, voltage_battery: 15_900 })
  }, 20)
  t.teardown(() => clearInterval(timer))
  const status = await ask(t, `udp:127.0.0.1:${port}`)
  t.match(status, {
    available: true,
    reason: null,
    source: 'listening',
    system_id: 1,
    vehicle_type: 'quadrotor',
    autopilot: 'ardupilot',
    armed: true,
    mode: 'loiter',
    battery_percent: 76,
    battery_volts: 15.9,
    gps_fix: '3d',
    lat: 48.1,
    lon: 11.5,
    altitude_m: 0,
    speed_m_s: 3,
    heading_degrees: 90,
    warning: null,
  })
  t.ok((status.heartbeat_age_ms ?? Number.NaN) >= 0)
  t.strictSame(copter.received, [], 'it only listens')
  t.strictSame(copter.heartbeats, [])
})

t.test('silence, and a port that another program holds, are answers with a reason', async t => {
  const port = await findUdpPort()
  const silent = await ask(t, `udp:127.0.0.1:${port}`, { signal: AbortSignal.timeout(100) })
  t.match(silent, { available: false, reason: /no heartbeat arrived/, lat: null, source: null })
  const other = createSocket('udp4').bind(port, '127.0.0.1')
  t.teardown(() => other.close())
  await once(other, 'listening')
  t.match(await ask(t, `udp:127.0.0.1:${port}`), { available: false, reason: /EADDRINUSE/ })
})

t.test('a link that holds the port answers from its state', async t => {
  const port = await findUdpPort()
  const connection = `udp:127.0.0.1:${port}`
  const config = { kind: 'mavlink', connection, vehicles: [{ name: 'kestrel', system_id: 1 }] }
  const link = openMavlinkLink(MavlinkLinkConfig.parse(config), createLinkContext(t))
  link.start(createEnd(t))
  t.match(await ask(t, connection, { links: [link] }), {
    available: false,
    reason: /^kestrel: /,
  })
  new StandInCopter(t, port)
  await waitUntil('the vehicle is there', () => link.list()[0]?.available)
  t.match(await ask(t, connection, { links: [link] }), { available: true, source: 'link' })
})

t.test('an address out of the scope, or of another form, is refused', async t => {
  const resolveHost = async (): Promise<string> => {
    throw new ShoalError('scope_denied', 'not in devices.scope')
  }
  const context = createQuestionContext(createLinkContext(t, { resolveHost }), {
    signal: createEnd(t),
  })
  const answer = (connection: string) =>
    question.ask({ connection }, context)[Symbol.asyncIterator]()
  await t.rejects(answer('udp:192.0.2.1:14550').next(), { code: 'scope_denied' })
  await t.rejects(answer('tcp:127.0.0.1:14550').next(), { code: 'invalid_request' })
})
