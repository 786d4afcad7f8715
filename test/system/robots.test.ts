import t from 'tap'
import { CRITICAL_GATE, LIVE_GATE } from '../../shared/wire/plan-part.ts'
import { findUdpPort, StandInCopter } from '../devices/links/stand-in-copter.ts'
import { createStandInRos2 } from '../devices/links/stand-in-ros2.ts'
import { openDeviceFleet } from '../support/device-fleet.ts'
import { waitUntil } from '../support/wait-until.ts'

/* A real coordinator and a real daemon with a copter and robots at its links. */

t.test(
  'mavlink-status answers from the link of the cell, and from what arrives elsewhere',
  async t => {
    const port = await findUdpPort()
    const connection = `udp:127.0.0.1:${port}`
    const link = { kind: 'mavlink', connection, vehicles: [{ name: 'kestrel' }] }
    const { call } = await openDeviceFleet(t, [{ devices: { links: [link] } }])
    const ask = (input: object) => call('operator', 'POST', '/v1/skills/mavlink-status', input)
    const copter = new StandInCopter(t, port)
    const heard = await waitUntil('the copter is heard', async () => {
      const { body } = await ask({ connection })
      return body.available === true && body
    })
    t.match(heard, { source: 'link', system_id: 1, mode: 'stabilize', gps_fix: '3d' })
    const silent = await ask({ connection: `udp:127.0.0.1:${await findUdpPort()}` })
    t.match(silent, { status: 200, body: { available: false, data_state: 'empty' } })
    t.match(await ask({ connection: 'udp:192.0.2.1:14550' }), { status: 403 })
    t.match(await ask({ connection: 'serial:/dev/ttyS0' }), { status: 422 })
    t.strictSame(copter.received, [])
  },
)

t.test(
  'two persons can send a copter out of its geofence, and nobody below its battery',
  async t => {
    const port = await findUdpPort()
    const area = [
      [48, 11],
      [48, 12],
      [49, 12],
      [49, 11],
    ]
    const envelope = { geofences: [{ frame: 'wgs84', area }], max_state_age_ms: 60_000 }
    const vehicles = [{ name: 'kestrel', envelope }]
    const { call } = await openDeviceFleet(t, [
      {
        devices: {
          links: [{ kind: 'mavlink', connection: `udp:127.0.0.1:${port}`, vehicles }],
        },
      },
    ])
    const copter = new StandInCopter(t, port)
    Object.assign(copter.state, { base_mode: 0xd1, altitude_m: 20 })
    const plan = (params: object) =>
      call('operator', 'POST', '/v1/devices/kestrel/plan', { command: 'go-to', params })
    const inside = { lat: 48.2, lon: 11.5, altitude_m: 30 }
    await waitUntil('a flight within the geofence passes', async () => {
      const { body } = await plan(inside)
      return body.passes === true
    })
    const outside = { ...inside, lat: 50 }
    const refused = await plan(outside)
    t.match(refused.body, { passes: false, gate: LIVE_GATE })
    const overridden = await plan({ ...outside, override_geofence: true })
    t.match(overridden.body, { passes: true, gate: CRITICAL_GATE })
    t.match(JSON.stringify(overridden.body.checks), /two persons have approved/)
    copter.state.battery_percent = 25
    const low = await waitUntil('the battery is low', async () => {
      const { body } = await plan({ ...outside, override_geofence: true })
      return body.passes === false && body
    })
    t.match(
      JSON.stringify(low.checks),
      /"battery_percent","verdict":"fail","observed":25,"limit":30/,
    )
    t.strictSame(copter.received, [], 'plans send nothing')
  },
)

const LAMP = { topic: '/lamp', msg_type: 'std_msgs/msg/Bool', data: { data: true } }
const STATUS = { topic: '/status', msg_type: 'std_msgs/msg/String' }

t.test('ros2-command reads at once, and publishes once after an approval', async t => {
  const tool = createStandInRos2(t)
  const robots = [{ name: 'rover', read_topics: [STATUS] }]
  const { call } = await openDeviceFleet(t, [
    { devices: { links: [{ kind: 'ros2', command: tool.command, robots }] } },
  ])
  const ask = (input: object, key?: string) =>
    call('operator', 'POST', '/v1/skills/ros2-command', input, key)
  const read = await waitUntil('the robot is there', async () => {
    const answer = await ask(STATUS)
    return answer.status === 200 && answer
  })
  t.match(read.body, { name: 'rover', message: 'data: hello\n---\n', outcome: { verb: 'read' } })
  t.match((await ask({ ...STATUS, topic: '/secret' })).body, { error: { message: /read-only/ } })
  tool.clear()
  t.match((await ask(LAMP)).body, { error: { param: 'Idempotency-Key' } })
  const pending = await ask(LAMP, 'lamp-1')
  t.match(pending, { status: 202, body: { gate_id: 'gate.device-command-live' } })
  t.match(pending.body.plan, { operations: [{ argv: { 5: '/lamp' } }] })
  t.strictSame(tool.listCalls(), [], 'nothing is published before the approval')
  const approval = `/v1/gates/requests/${pending.body.request_id}/approve`
  t.equal((await call('approver_a', 'POST', approval, {})).status, 200)
  t.match(await ask(LAMP, 'lamp-2'), { status: 200, body: { outcome: { state: 'succeeded' } } })
  await ask(LAMP, 'lamp-2')
  const argv = ['topic', 'pub', '--once', '-w', '1', '/lamp', LAMP.msg_type, '{"data":true}']
  t.strictSame(tool.listCalls(), [argv])
  t.equal((await ask({ ...LAMP, topic: '--help' }, 'lamp-3')).status, 422)
})

t.test('ros2-command names the robots to choose from', async t => {
  const tool = createStandInRos2(t)
  const robots = [{ name: 'rover-1' }, { name: 'rover-2' }]
  const { call } = await openDeviceFleet(t, [
    {
      devices: {
        links: [
          { kind: 'ros2', command: tool.command, robots },
          { kind: 'sim', devices: [{ name: 'switch', profile: 'sim-switch' }] },
        ],
      },
    },
  ])
  const ask = (input: object) => call('operator', 'POST', '/v1/skills/ros2-command', input)
  const refused = await waitUntil('the robots are known', async () => {
    const answer = await ask(STATUS)
    return JSON.stringify(answer.body).includes('rover-2') && answer
  })
  t.match(refused, {
    status: 422,
    body: { error: { param: 'device_id', message: /^2 robots have ROS 2.*rover-1 .*rover-2/ } },
  })
  const wrong = await ask({ ...STATUS, device_id: 'switch' })
  t.match(wrong, { status: 422, body: { error: { message: /use device-command/ } } })
})
