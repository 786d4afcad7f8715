import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { openDeviceFleet } from '../support/device-fleet.ts'
import { createLinkContext } from '../support/link-context.ts'
import { mosquittoMissing } from '../support/mosquitto.ts'
import { brokerConfig, createBrokerLink, startMqttBroker } from '../support/mqtt-broker.ts'
import { waitUntil } from '../support/wait-until.ts'

/* A real coordinator, a real daemon and a real mosquitto: the way of a message. */

/** A coordinator, a cell with the broker `home`, and a client beside it that notes what arrives. */
const openSite = async (t: Test) => {
  const broker = await startMqttBroker(t, { isOpen: false })
  const client = await broker.connect()
  const arrived: string[] = []
  client.on('message', (topic, payload) => arrived.push(`${topic} ${payload}`))
  await client.subscribeAsync('home/#', { qos: 1 })
  const config = brokerConfig(broker.port, { allow_publish: ['home/+/set'] })
  const links = [createBrokerLink(config, createLinkContext(t))]
  const { request, call } = await openDeviceFleet(t, [{ links }])
  const get = (path: string) => call('operator', 'GET', path)
  const post = (path: string, body: object) => call('operator', 'POST', path, body, randomUUID())
  await waitUntil('the cell is connected to the broker', async () => {
    const { body } = await get('/v1/mqtt/brokers')
    return (body.brokers as { connected: boolean }[] | undefined)?.[0]?.connected === true
  })
  return { broker, client, arrived, request, call, get, post }
}

t.test('messages of a broker pass through its cell', { skip: mosquittoMissing }, async t => {
  const { client, request, get, post, call, arrived } = await openSite(t)
  await client.publishAsync('home/lamp', '{"on":true}', { retain: true, qos: 1 })

  t.test('a subscription returns JSON as JSON, and other payloads as they are', async t => {
    await client.publishAsync('home/x/huge', '1e999', { retain: true, qos: 1 })
    await client.publishAsync('home/x/deep', '['.repeat(5000) + ']'.repeat(5000), {
      retain: true,
      qos: 1,
    })
    await client.publishAsync('home/x/raw', Buffer.from([255]), { retain: true, qos: 1 })
    const input = { broker: 'home', topic: 'home/#', max_messages: 4 }
    const { status, body } = await post('/v1/mqtt/subscribe', input)
    t.equal(status, 200)
    t.match(body, { broker: 'home', ended_by: 'messages', dropped: 0, data_state: 'live' })
    const messages = body.messages as { topic: string }[]
    t.match(
      messages.toSorted((one, other) => (one.topic < other.topic ? -1 : 1)),
      [
        { topic: 'home/lamp', payload: { on: true }, format: 'json', retained: true, bytes: 11 },
        { topic: 'home/x/deep', payload: /^\[{5000}/, format: 'text' },
        { topic: 'home/x/huge', payload: '1e999', format: 'text' },
        { topic: 'home/x/raw', payload: '/w==', format: 'base64' },
      ],
    )
  })

  t.test('a client that accepts events gets each message, and the whole at the end', async t => {
    const input = { broker: 'home', topic: 'home/lamp', max_messages: 1 }
    const response = await request('operator', 'POST', '/v1/mqtt/subscribe', input, {
      accept: 'text/event-stream',
    })
    const text = await response.text()
    t.strictSame(
      [...text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name),
      ['message', 'result'],
    )
  })

  t.test('the skill subscribes, and publishes JSON within the allow list at once', async t => {
    const publish = { action: 'publish', broker: 'home', topic: 'home/lamp/set' }
    const skill = '/v1/skills/mqtt-bridge'
    const { status, body } = await post(skill, { ...publish, payload: { state: 'ON' } })
    t.equal(status, 200)
    t.match(body, { received: null, sent: { published: true, plan: { hazard: 'caution' } } })
    await waitUntil('it has arrived', () => arrived.includes('home/lamp/set {"state":"ON"}'))
    t.match(await post(skill, publish), {
      status: 422,
      body: { error: { param: 'payload' } },
    })
  })

  t.test('retained messages, topics, the allow list and devices are listed', async t => {
    t.match(await get('/v1/mqtt/retained?broker=home&topic=home/lamp'), {
      status: 200,
      body: { ended_by: 'retained', messages: [{ topic: 'home/lamp', payload: { on: true } }] },
    })
    t.match(await get('/v1/mqtt/topics?filter=home/%2B/set'), {
      body: { topics: [{ broker: 'home', topic: 'home/lamp/set', messages: 1 }], total: 1 },
    })
    t.match(await get('/v1/mqtt/allowed'), {
      body: { brokers: [{ name: 'home', publish: ['home/+/set'], retained: [] }] },
    })
    t.match(await get('/v1/mqtt/devices'), { body: { devices: [], data_state: 'empty' } })
    const { body } = await get('/v1/mqtt/brokers')
    t.match(body, { brokers: [{ name: 'home', tls: false, devices: 0 }] })
    t.notMatch(JSON.stringify(body), /password/)
  })

  t.test('a publish needs a key, with which a repetition sends nothing again', async t => {
    const message = { broker: 'home', topic: 'home/fan/set', payload: 'toggle' }
    const publish = (key: string) => call('operator', 'POST', '/v1/mqtt/publish', message, key)
    const answers = [await publish('one'), await publish('one')]
    t.match(answers, [{ status: 200, body: { published: true } }, { status: 200 }])
    t.strictSame(answers[1], answers[0])
    t.match(await publish(''), { status: 422, body: { error: { param: 'Idempotency-Key' } } })
    await post('/v1/mqtt/publish', { ...message, payload: 'end' })
    await waitUntil('a later message has arrived', () => arrived.includes('home/fan/set end'))
    t.equal(arrived.filter(one => one === 'home/fan/set toggle').length, 1)
  })

  t.test('outside the allow list two people are needed, and it happens once', async t => {
    const input = { broker: 'home', topic: 'home/valve', payload: 'open' }
    const publish = () => post('/v1/mqtt/publish', input)
    const first = await publish()
    t.match(first, {
      status: 202,
      body: {
        status: 'pending',
        gate_id: 'gate.device-command-live',
        plan: { topic: 'home/valve', payload: 'open', payload_bytes: 4, hazard: 'unsafe' },
      },
    })
    const path = `/v1/gates/requests/${first.body.request_id}/approve`
    t.match(await call('operator', 'POST', path, {}), { status: 403 }, 'not their own request')
    t.match(await publish(), { status: 202, body: { request_id: first.body.request_id } })
    t.equal((await call('approver_a', 'POST', path, {})).status, 200)
    t.match(await publish(), { status: 200, body: { published: true } })
    t.match(await publish(), { status: 202 }, 'an approval is used once')
    const other = await post('/v1/mqtt/publish', { ...input, payload: 'shut' })
    t.equal(other.status, 202, 'and covers one payload')
    await post('/v1/mqtt/publish', { broker: 'home', topic: 'home/last/set', payload: '' })
    await waitUntil('a later message has arrived', () => arrived.includes('home/last/set '))
    t.strictSame(
      arrived.filter(one => one.startsWith('home/valve')),
      ['home/valve open'],
    )
  })

  t.test('loops, patterns and brokers outside the scope are refused', async t => {
    const publish = (more: object) =>
      post('/v1/mqtt/publish', { broker: 'home', topic: 'a', payload: '', ...more })
    t.match(await publish({ topic: 'shoal/v1/coordinator/state' }), { status: 403 })
    t.match(await publish({ broker: '127.0.0.1:7071' }), { status: 403 })
    t.match(await publish({ topic: 'a/#' }), { status: 422 })
    t.match(await publish({ broker: '192.0.2.9' }), {
      status: 403,
      body: { error: { code: 'scope_denied' } },
    })
    const read = { broker: '192.0.2.9', topic: 'a' }
    t.match(await post('/v1/mqtt/subscribe', read), {
      status: 403,
      body: { error: { code: 'scope_denied' } },
    })
    t.match(await call('enterprise', 'POST', '/v1/mqtt/subscribe', read), { status: 403 })
  })
})
