import t, { type Test } from 'tap'
import type { Verb } from '../../../daemon/commands/verb.ts'
import { DeviceHost } from '../../../daemon/devices/device-host.ts'
import { createDeviceQuestions } from '../../../daemon/devices/device-questions.ts'
import { MqttBridge } from '../../../daemon/devices/mqtt/mqtt-bridge.ts'
import { createPublishVerb } from '../../../daemon/devices/mqtt/publish-verb.ts'
import { DEVICE_QUESTIONS } from '../../../daemon/devices/questions/index.ts'
import { createHostResolver, type Lookup } from '../../../daemon/devices/resolve-host.ts'
import type { BrokerConfig } from '../../../devices/mqtt/broker-config.ts'
import { CAPABILITY } from '../../../shared/wire/capability.ts'
import type { MqttSubscribeEvent } from '../../../shared/wire/mqtt-bridge.ts'
import { createEnd, createLinkContext } from '../../support/link-context.ts'
import { mosquittoMissing } from '../../support/mosquitto.ts'
import { brokerConfig, createBrokerLink, startMqttBroker } from '../../support/mqtt-broker.ts'
import { waitUntil } from '../../support/wait-until.ts'

const needsBroker = { skip: mosquittoMissing }

/** A cell with one configured broker, its questions and its verb. */
const openCell = (t: Test, config: BrokerConfig, scope: string[] = [], lookUp?: Lookup) => {
  const context = createLinkContext(t, { resolveHost: createHostResolver(scope, lookUp) })
  const link = createBrokerLink(config, context)
  const host = new DeviceHost({ config: {}, links: [link], ...context })
  host.start(createEnd(t))
  const mqtt = new MqttBridge({
    context,
    listBrokers: () => host.listBrokers(),
    coordinatorUrl: 'https://127.0.0.1:7070',
  })
  const questions = createDeviceQuestions(DEVICE_QUESTIONS, { ...context, host, mqtt })
  const read = async function* (name: string, input: object, signal = createEnd(t)) {
    for await (const event of questions.ask(name, input, signal, CAPABILITY))
      if (event.type === 'item') yield event.value as MqttSubscribeEvent
  }
  const ask = async (name: string, input: object) => {
    const values: MqttSubscribeEvent[] = []
    for await (const value of read(name, input)) values.push(value)
    return values as never as [never]
  }
  return { host, mqtt, link, read, ask, verb: createPublishVerb(mqtt) }
}

const kindsOf = (events: readonly MqttSubscribeEvent[]) =>
  events.map(event =>
    event.kind === 'message' ? event.message : event.kind === 'end' ? event.ended_by : event.kind,
  )

t.test('a subscription yields retained and live messages of any payload', needsBroker, async t => {
  const broker = await startMqttBroker(t, { isOpen: false })
  const client = await broker.connect()
  await client.publishAsync('home/lamp', '{"on":true}', { retain: true, qos: 1 })
  const { read } = openCell(t, brokerConfig(broker.port))
  const events: MqttSubscribeEvent[] = []
  for await (const event of read('mqtt-subscribe', {
    broker: 'home',
    topic: 'home/#',
    max_messages: 3,
  })) {
    events.push(event)
    if (events.length !== 2) continue
    await client.publishAsync('home/raw', Buffer.from([0, 255, 1]), { qos: 1 })
    await client.publishAsync('home/"\\\u202e', '__proto__', { qos: 1 })
  }
  t.match(kindsOf(events), [
    'subscribed',
    { topic: 'home/lamp', payload: '{"on":true}', encoding: 'text', bytes: 11, retained: true },
    { topic: 'home/raw', payload: 'AP8B', encoding: 'base64', bytes: 3, retained: false },
    { topic: 'home/"\\\u202e', payload: '__proto__', encoding: 'text', retained: false },
    'messages',
  ])
})

t.test('a name without an address is a mistake of the caller, unless it is configured', async t => {
  const { mqtt } = openCell(
    t,
    brokerConfig(1883, { url: 'mqtt://broker.lan:1883' }),
    [],
    async () => [],
  )
  const message = 'the name broker.lan has no address'
  await t.rejects(mqtt.requireScope({ host: 'broker.lan', port: 1883 }), {
    code: 'conflict',
    message,
  })
  const mistyped = mqtt.requireScope({ host: 'hoem', port: 1883 })
  await t.rejects(mistyped, {
    code: 'invalid_request',
    message: /^no configured broker has the name hoem/,
  })
})

t.test('a subscription ends at each of its bounds', needsBroker, async t => {
  const broker = await startMqttBroker(t)
  const client = await broker.connect()
  for (const [name, bytes] of Object.entries({ a: 40, b: 40, c: 40, huge: 4000 }))
    await client.publishAsync(`home/${name}`, 'x'.repeat(bytes), { retain: true, qos: 1 })
  const { ask } = openCell(t, brokerConfig(broker.port))
  const subscribe = async (bounds: object) => {
    const at = { broker: '127.0.0.1', port: broker.port, topic: 'home/+', ...bounds }
    const events: readonly MqttSubscribeEvent[] = await ask('mqtt-subscribe', at)
    const end = events.at(-1)
    return { messages: events.length - 2, ...(end?.kind === 'end' ? end : {}) }
  }
  t.match(await subscribe({ max_messages: 2 }), { messages: 2, ended_by: 'messages' })
  t.match(await subscribe({ max_bytes: 100, max_message_bytes: 100 }), {
    messages: 2,
    ended_by: 'bytes',
  })
  t.match(await subscribe({ seconds: 1, max_message_bytes: 100 }), {
    messages: 3,
    ended_by: 'seconds',
    dropped: 1,
  })
})

t.test(
  'a broker that leaves ends a subscription, and then is reported as away',
  needsBroker,
  async t => {
    const broker = await startMqttBroker(t)
    const { read, ask } = openCell(t, brokerConfig(broker.port))
    const events: MqttSubscribeEvent[] = []
    for await (const event of read('mqtt-subscribe', { broker: 'home', topic: 'home/#' })) {
      events.push(event)
      if (event.kind === 'subscribed') await broker.mosquitto.stop()
    }
    t.strictSame(kindsOf(events), ['subscribed', 'broker'])
    await t.rejects(ask('mqtt-subscribe', { broker: 'home', topic: 'a' }), {
      code: 'broker_unavailable',
      message: /home is not reachable/,
    })
  },
)

t.test('credentials are those of the configuration, for its broker alone', needsBroker, async t => {
  const broker = await startMqttBroker(t, { isOpen: false })
  const wrong = openCell(t, brokerConfig(broker.port, { password_file: 'a wrong password' }))
  const topic = { topic: 'a', seconds: 1 }
  await t.rejects(wrong.ask('mqtt-subscribe', { broker: 'home', ...topic }), {
    code: 'forbidden',
    message: 'home refuses the credentials in the configuration of the cell',
  })
  const right = openCell(t, brokerConfig(broker.port))
  const address = { broker: `localhost:${broker.port}`, ...topic }
  t.match(await right.ask('mqtt-subscribe', address), [{ kind: 'subscribed', name: 'home' }, {}])
  const other = openCell(t, brokerConfig(1))
  await t.rejects(other.ask('mqtt-subscribe', address), {
    code: 'forbidden',
    message: /without credentials/,
  })
})

t.test(
  'brokers, topics and retained messages are listed without any secret',
  needsBroker,
  async t => {
    const broker = await startMqttBroker(t, { isOpen: false })
    const client = await broker.connect()
    await client.publishAsync('home/lamp', 'on', { retain: true, qos: 1 })
    const { ask, host } = openCell(t, brokerConfig(broker.port, { allow_publish: ['home/+/set'] }))
    const [{ topics }] = host.listBrokers() as [never]
    await waitUntil('the link has seen a topic', () => (topics as { list(): [] }).list().length > 0)
    await client.publishAsync('home/lamp', 'off', { qos: 1 })
    await client.publishAsync('home/lamp', 'off', { qos: 1 })
    const [brokers] = await ask('mqtt-brokers', {})
    t.match(brokers, {
      brokers: [
        { name: 'home', host: '127.0.0.1', port: broker.port, tls: false, connected: true },
      ],
    })
    t.notMatch(JSON.stringify(brokers), /password/)
    await waitUntil('the link has seen the messages', async () => {
      const [seen] = await ask('mqtt-topics', { filter: 'home/#' })
      const { topics } = seen as { topics: { messages: number }[] }
      return topics[0]?.messages === 3
    })
    t.match(await ask('mqtt-topics', { broker: 'other' }), [{ topics: [], total: 0 }])
    t.match(kindsOf(await ask('mqtt-retained', { broker: 'home' })), [
      'subscribed',
      { topic: 'home/lamp', payload: 'on', retained: true },
      'retained',
    ])
  },
)

t.test('what is no filter, no broker, or outside the scope is refused', async t => {
  const { ask } = openCell(t, brokerConfig(1))
  const at = (more: object) => ask('mqtt-subscribe', { broker: 'home', topic: 'a', ...more })
  for (const topic of ['a/#/b', 'a+', '#a', 'a\u0000b', '\ud800', 'é'.repeat(300)])
    await t.rejects(at({ topic }), { code: 'invalid_request' }, JSON.stringify(topic))
  for (const broker of ['mqtt://home', 'a b', 'user@host', 'host:99999', '[::1', 'a:b:c'])
    await t.rejects(at({ broker }), { code: 'invalid_request' }, broker)
  await t.rejects(at({ broker: '192.0.2.7' }), { code: 'scope_denied' })
  await t.rejects(at({ broker: 'localhost:7070' }), { code: 'forbidden' })
  await t.rejects(at({ broker: '127.0.0.1', port: 7071 }), { code: 'forbidden', message: /loop/ })
  await t.rejects(at({ broker: '127.1', port: 7071 }), { code: 'forbidden' }, 'another name of it')
})

const planOf = ({ params, plan, hazardOf }: Verb, given: object) => {
  const parsed = params.parse(given)
  return { hazard: hazardOf?.(parsed), ...plan(parsed) }
}

t.test('a publish is planned with its exact bytes, and allowed by topic', t => {
  const allowed = { allow_publish: ['home/+/set'], allow_retained: ['home/mode'] }
  const { verb } = openCell(t, brokerConfig(1883, allowed))
  const plan = (given: object) => planOf(verb, { broker: 'home', payload: 'ä', ...given })
  t.match(plan({ topic: 'home/lamp/set' }), {
    hazard: 'caution',
    operations: [
      {
        broker: 'home',
        host: '127.0.0.1',
        port: 1883,
        topic: 'home/lamp/set',
        payload: 'ä',
        payload_bytes: 2,
        payload_sha256: /^[0-9a-f]{64}$/,
        retain: false,
        qos: 1,
      },
    ],
  })
  t.equal(plan({ topic: 'home/lamp/set', broker: 'localhost' }).hazard, 'caution')
  t.equal(plan({ topic: 'home/lamp/set', broker: '127.0.0.1:1884' }).hazard, 'unsafe')
  t.equal(plan({ topic: 'home/lamp/set', retain: true }).hazard, 'unsafe')
  t.equal(plan({ topic: 'home/mode', retain: true }).hazard, 'caution')
  t.equal(plan({ topic: 'home/mode' }).hazard, 'unsafe')
  t.equal(plan({ topic: 'other' }).hazard, 'unsafe')
  t.end()
})

t.test('a topic of the fleet, a pattern and too much are never published', t => {
  const { verb } = openCell(t, brokerConfig(1, { allow_publish: ['#'] }))
  const plan = (given: object) => () => planOf(verb, { broker: 'home', payload: '', ...given })
  for (const topic of ['a/+', '#', '$SYS/broker', 'a\nb', 'é'.repeat(300), '\ud800'])
    t.throws(plan({ topic }), { code: 'invalid_request' }, JSON.stringify(topic))
  t.throws(plan({ topic: 'shoal/v1/cells/x/cmd/y' }), { code: 'forbidden', message: /loop/ })
  t.throws(plan({ topic: 'a', broker: '127.0.0.1:7071' }), { code: 'forbidden' })
  t.throws(plan({ topic: 'a', payload: 'é'.repeat(20_000) }), { code: 'invalid_request' })
  t.throws(plan({ topic: 'a', payload: 'x'.repeat(70_000) }))
  t.end()
})

t.test('a publish outside the scope fails its check, and sends nothing', async t => {
  const { verb } = openCell(t, brokerConfig(1))
  const { operations, bounds } = planOf(verb, { broker: '192.0.2.7', topic: 'a', payload: 'b' })
  const part = { cell_id: 'x', verb: verb.verb, hazard: 'unsafe' as const, operations, bounds }
  const { signal } = new AbortController()
  t.match(await verb.check?.(part, signal), [{ name: 'broker_scope', holds: false }])
  await t.rejects(verb.run(part, { signal, report: () => {} }), { code: 'scope_denied' })
})

t.test('nothing is published while an e-stop is in force', needsBroker, async t => {
  const broker = await startMqttBroker(t, { isOpen: false })
  const client = await broker.connect()
  const arrived: string[] = []
  await client.subscribeAsync('home/#', { qos: 1 })
  client.on('message', topic => arrived.push(topic))
  const { mqtt } = openCell(t, brokerConfig(broker.port))
  const stop = { estop_id: 'est_1', reason: 'smoke' }
  let stopped: typeof stop | undefined = stop
  const verb = createPublishVerb(mqtt, () => stopped)
  const run = async (topic: string) => {
    const { operations, bounds } = planOf(verb, { broker: 'home', topic, payload: '1' })
    const part = { cell_id: 'x', verb: verb.verb, hazard: 'unsafe' as const, operations, bounds }
    const checks = await verb.check?.(part, createEnd(t))
    const failing = checks?.filter(({ holds }) => !holds).map(({ name }) => name)
    t.strictSame(failing, stopped === undefined ? [] : ['estop'])
    return verb.run(part, { signal: createEnd(t), report: () => {} })
  }
  await t.rejects(run('home/stopped'), { reason: 'estopped', message: /est_1: smoke/ })
  stopped = undefined
  await run('home/released')
  await waitUntil('the later message has arrived', () => arrived.length > 0)
  t.strictSame(arrived, ['home/released'])
})

t.test('a publish arrives as planned, with either quality of service', needsBroker, async t => {
  const broker = await startMqttBroker(t, { isOpen: false })
  const client = await broker.connect()
  const arrived: object[] = []
  await client.subscribeAsync('home/#', { qos: 1 })
  client.on('message', (topic, payload) => arrived.push({ topic, payload: payload.toString() }))
  const { verb } = openCell(t, brokerConfig(broker.port))
  const publish = async (given: object) => {
    const { operations, bounds } = planOf(verb, { broker: 'home', ...given })
    const part = { cell_id: 'x', verb: verb.verb, hazard: 'unsafe' as const, operations, bounds }
    return verb.run(part, { signal: createEnd(t), report: () => {} })
  }
  t.strictSame(await publish({ topic: 'home/a', payload: '1' }), {
    published: true,
    payload_bytes: 1,
  })
  await publish({ topic: 'home/b', payload: '', qos: 0 })
  await publish({ topic: 'home/c', payload: '{}', retain: true })
  await waitUntil('all messages have arrived', () => arrived.length === 3)
  t.strictSame(arrived, [
    { topic: 'home/a', payload: '1' },
    { topic: 'home/b', payload: '' },
    { topic: 'home/c', payload: '{}' },
  ])
  const late = await broker.connect()
  const kept: object[] = []
  late.on('message', (topic, _payload, { retain }) => kept.push({ topic, retain }))
  await late.subscribeAsync('home/#')
  await waitUntil('the retained message has arrived', () => kept.length === 1)
  t.strictSame(kept, [{ topic: 'home/c', retain: true }])
})
