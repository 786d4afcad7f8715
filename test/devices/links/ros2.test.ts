import t, { type Test } from 'tap'
import { createEnvironment, Ros2LinkConfig } from '../../../devices/links/ros2/config.ts'
import { encodeData } from '../../../devices/links/ros2/message-data.ts'
import { MessageType, TopicName } from '../../../devices/links/ros2/names.ts'
import { openRos2Link } from '../../../devices/links/ros2/open.ts'
import type { Json } from '../../../devices/profile.ts'
import robot from '../../../devices/profiles/ros2-robot.ts'
import { type LinkBench, testDeviceLink } from '../../contracts/device-link.ts'
import { createLinkContext } from '../../support/link-context.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { publishHostile } from './ros2-hostile.ts'
import { createStandInRos2, publishAt } from './stand-in-ros2.ts'

const ROBOT = {
  name: 'rover',
  battery: '/battery',
  pose: '/odom',
  read_topics: [{ topic: '/status', msg_type: 'std_msgs/msg/String' }],
}
const ZERO = '{"angular":{"x":0,"y":0,"z":0},"linear":{"x":0,"y":0,"z":0}}'
const SLOW = { linear_m_s: 0.5, angular_rad_s: -0.25, duration_s: 2 }
const TWIST = 'geometry_msgs/msg/Twist'

const openRig = async (t: Test) => {
  const tool = createStandInRos2(t)
  const config = { kind: 'ros2', command: tool.command, poll_seconds: 3600, robots: [ROBOT] }
  const env = { PATH: process.env.PATH }
  const link = openRos2Link(Ros2LinkConfig.parse(config), createLinkContext(t, { env }))
  const end = new AbortController()
  t.teardown(() => end.abort())
  const observed = new Promise<void>(done => link.onChange(done))
  link.start(end.signal)
  await observed
  const deviceId = link.list()[0]?.deviceId ?? ''
  return { link, tool, deviceId, end: () => end.abort() }
}

const listOperations = (calls: string[][]): Json[] => calls.map(argv => ({ argv }))
const isZero = (argv: string[]): boolean => argv.at(-1) === ZERO

const openBench = async (t: Test): Promise<LinkBench> => {
  const { link, tool, end } = await openRig(t)
  return {
    link,
    listReceived: () => listOperations(tool.listCalls()),
    hang: tool.hang,
    hasStopped: () => tool.listCalls().some(isZero),
    end,
  }
}

testDeviceLink(t, {
  open: openBench,
  uses: [
    { device: 'rover', verb: 'drive', params: SLOW },
    {
      device: 'rover',
      verb: 'publish',
      params: { topic: '/lamp', msg_type: 'std_msgs/msg/Bool', data: { data: true } },
    },
    {
      device: 'rover',
      verb: 'read',
      params: { topic: '/status', msg_type: 'std_msgs/msg/String' },
    },
    { device: 'rover', verb: 'stop', params: {} },
    { device: 'rover', verb: 'hold', params: {} },
  ],
  hanging: { device: 'rover', verb: 'drive', params: SLOW },
})

const STAMPED = 'geometry_msgs/msg/TwistStamped'

const planVerb = (verb: string, params: Record<string, Json>, drive = TWIST): Json[] => {
  const found = robot.verbs[verb]
  if (found === undefined) throw new Error(`no verb ${verb}`)
  const options = { ...ROBOT, drive: { topic: '/cmd_vel', msg_type: drive } }
  const target = { device_id: 'dev_1', options, envelope: {} }
  return found.plan(found.params.parse(params), target).operations
}

t.test('a drive is published for its time, and ends in zero velocity', async t => {
  const twist = '{"angular":{"x":0,"y":0,"z":-0.25},"linear":{"x":0.5,"y":0,"z":0}}'
  const motion = ['--rate', '10', '--times', '20', '-w', '1']
  t.strictSame(planVerb('drive', SLOW), [
    { argv: ['topic', 'pub', ...motion, '/cmd_vel', TWIST, twist] },
    { argv: ['topic', 'pub', '--once', '-w', '1', '/cmd_vel', TWIST, ZERO] },
  ])
})

t.test('each message of a stamped type has its time and its frame', async t => {
  const [motion, rest] = planVerb('drive', SLOW, STAMPED)
  for (const operation of [motion, rest, ...planVerb('stop', {}, STAMPED)]) {
    const [first, second] = [1, 2].map(sec => publishAt(operation, { sec, nanosec: 5 }))
    t.match(first, { header: { stamp: { sec: 1, nanosec: 5 }, frame_id: 'base_link' } })
    t.match(second, { header: { stamp: { sec: 2 } }, twist: { linear: { y: 0 } } })
  }
  const pose = { topic: '/goal', msg_type: 'geometry_msgs/msg/PoseStamped' }
  const [plain] = planVerb('publish', { ...pose, data: { pose: {} } })
  t.match(publishAt(plain, { sec: 3, nanosec: 0 }), { header: { stamp: { sec: 3 } }, pose: {} })
  const header = { stamp: { sec: 9 }, frame_id: 'map' }
  const [own] = planVerb('publish', { ...pose, data: { header } })
  t.strictSame(publishAt(own, { sec: 3, nanosec: 0 }), { header }, 'a header that is given stays')
})

t.test('the hazard of a drive follows its velocity', async t => {
  const rate = (linear_m_s: number, angular_rad_s = 0) =>
    robot.verbs.drive?.hazardOf?.({ linear_m_s, angular_rad_s, duration_s: 1 })
  t.strictSame(
    [rate(0), rate(0.3), rate(-0.3, 0.3), rate(0.31), rate(0, -0.31), rate(-0.31)],
    ['safe', 'caution', 'caution', 'unsafe', 'unsafe', 'unsafe'],
  )
})

t.test(
  'a motion that is aborted, overtaken or ended is killed, then zero is published',
  async t => {
    const ways = {
      aborted: ({ stop }: Way) => stop.abort(new Error('over')),
      overtaken: ({ rig }: Way) => rig.link.stop(rig.deviceId, 'hold'),
      ended: ({ rig }: Way) => rig.end(),
    }
    for (const [name, act] of Object.entries(ways)) {
      const rig = await openRig(t)
      rig.tool.hang()
      const stop = new AbortController()
      const context = { signal: stop.signal, report: () => {}, bounds: {} }
      const done = rig.link.execute(rig.deviceId, planVerb('drive', SLOW), context)
      const failed = t.rejects(done, name)
      await waitUntil('the motion begins', () => rig.tool.listCalls().length === 1)
      await act({ rig, stop })
      await failed
      t.strictSame(rig.tool.listCalls().map(isZero), [false, true], name)
    }
  },
)

t.test('an abort while zero velocity is being published does not cut it', async t => {
  const { link, deviceId, tool } = await openRig(t)
  const stop = new AbortController()
  tool.slowDown()
  const context = { signal: stop.signal, report: () => {}, bounds: {} }
  const done = link.execute(deviceId, planVerb('drive', SLOW), context)
  await waitUntil('the rest begins', () => tool.hasBegun())
  stop.abort(new Error('over'))
  await done
  t.strictSame(tool.listCalls().map(isZero), [false, true])
})

interface Way {
  rig: Awaited<ReturnType<typeof openRig>>
  stop: AbortController
}

t.test('readings come from the topics of the configuration', async t => {
  const { link, deviceId } = await openRig(t)
  const { readings = {} } = link.readState(deviceId) ?? {}
  t.match(readings, {
    battery_percent: { value: 55.5 },
    x_m: { value: 1.5 },
    y_m: { value: -2 },
    speed_m_s: { value: 0.5 },
  })
})

t.test('a read returns the message, and only of a topic on the list', async t => {
  const { link, deviceId } = await openRig(t)
  const params = { topic: 'status', msg_type: 'std_msgs/msg/String' }
  const context = { signal: new AbortController().signal, report: () => {}, bounds: {} }
  const { result } = await link.execute(deviceId, planVerb('read', params), context)
  t.strictSame(result, { message: 'data: hello\n---\n' })
  t.throws(() => planVerb('read', { ...params, topic: '/secret' }), { code: 'invalid_request' })
  t.throws(() => planVerb('read', { ...params, msg_type: TWIST }), { code: 'invalid_request' })
})

t.test('nothing is published on read-only topics, and on the base only by drive', async t => {
  const data = { data: 'x' }
  for (const topic of ['/status', 'status', '/cmd_vel', 'cmd_vel'])
    t.throws(() => planVerb('publish', { topic, msg_type: 'std_msgs/msg/String', data }), {
      code: 'invalid_request',
    })
})

t.test('without the tool the robots are not available, with the reason', async t => {
  const config = { kind: 'ros2', command: '/nonexistent/ros2', robots: [ROBOT] }
  const link = openRos2Link(Ros2LinkConfig.parse(config), createLinkContext(t))
  const end = new AbortController()
  t.teardown(() => end.abort())
  link.start(end.signal)
  await waitUntil('the reason', () => link.list()[0]?.reason?.includes('not installed'))
  t.match(link.list()[0], { available: false })
  const context = { signal: end.signal, report: () => {}, bounds: {} }
  const id = link.list()[0]?.deviceId ?? ''
  await t.rejects(link.execute(id, planVerb('drive', SLOW), context), {
    name: 'DeviceFailure',
    reason: 'cell_unavailable',
  })
})

t.test('the tool receives only the allowed part of the environment', async t => {
  const own = { PATH: '/bin', ROS_DOMAIN_ID: '1', SHOAL_TOKEN: 'secret', HOME: undefined }
  const env = createEnvironment({ env: { ROS_DOMAIN_ID: '7' } }, own)
  t.strictSame(env, { PATH: '/bin', ROS_DOMAIN_ID: '7' })
  const wrong = { kind: 'ros2', robots: [ROBOT], env: { LD_PRELOAD: '/x.so' } }
  t.notOk(Ros2LinkConfig.safeParse(wrong).success)
})

t.test('names are those of ROS 2', async t => {
  for (const topic of ['/cmd_vel', 'a', '/a/b_1', '_x'])
    t.ok(TopicName.safeParse(topic).success, topic)
  for (const topic of ['', '/', '//a', '/a//b', '/a/', '-a', '--help', '/1a', '/a b', '/a\n', 'ä'])
    t.notOk(TopicName.safeParse(topic).success, topic)
  t.ok(MessageType.safeParse('nav_msgs/msg/Odometry').success)
  for (const type of ['nav_msgs/Odometry', 'nav_msgs/srv/X', '-n/msg/X', 'n/msg/X;', 'n/msg/X\n'])
    t.notOk(MessageType.safeParse(type).success, type)
})

t.test('data is canonical JSON with the same meaning in YAML, or it is refused', async t => {
  t.equal(encodeData({ b: [1, true, null], a: 'x"y' }), '{"a":"x\\"y","b":[1,true,null]}')
  t.equal(encodeData({ a: '\u0085\u2028\ufeff' }), '{"a":"\\u0085\\u2028\\ufeff"}')
  const deep = JSON.parse(`${'{"a":'.repeat(20)}1${'}'.repeat(20)}`)
  for (const data of [{ a: 1e21 }, { a: 1e-7 }, { '<<': 1 }, { 'a b': 1 }, { a: '\ud800' }, deep])
    t.throws(() => encodeData(data), { code: 'invalid_request' })
  t.throws(() => encodeData({ a: 'x'.repeat(17_000) }), { code: 'invalid_request' })
})

t.test('hostile text arrives exactly as it is, or is refused', async t => {
  const { exact, refused, altered } = await publishHostile(t, { calls: 150, seed: 13 })
  t.strictSame(altered, [])
  t.ok(exact > 5 && refused > 5, `${exact} exact, ${refused} refused`)
})
