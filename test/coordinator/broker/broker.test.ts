import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { type IClientOptions, MqttClient } from 'mqtt'
import t, { type Test } from 'tap'
import { createEmbeddedBus } from '../../../coordinator/broker/broker.ts'
import { createInbox } from '../../../coordinator/broker/inbox.ts'
import { acceptUpgrades } from '../../../coordinator/http/upgrades.ts'
import { newId } from '../../../shared/ids.ts'
import { envelope } from '../../../shared/wire/envelope.ts'
import { MQTT_PATH } from '../../../shared/wire/link.ts'
import { topicFor } from '../../../shared/wire/topics.ts'
import { silent } from '../../support/cell.ts'

const A = newId('cell')
const B = newId('cell')

interface Heard {
  name: string
  cellId: string
  text: string
}

/** A real broker behind real upgrades; cells A and B exist with the credential `good`. */
const rig = async (t: Test) => {
  const heard: Heard[] = []
  const waiting: (() => void)[] = []
  const seen: string[] = []
  const bus = await createEmbeddedBus({
    logger: silent,
    nowMs: () => performance.now(),
    epoch: 1,
    authenticate: (cellId, credential) => [A, B].includes(cellId) && credential === 'good',
    seen: cellId => seen.push(cellId),
    receive: (name, cellId, payload) => {
      heard.push({ name, cellId, text: String(payload) })
      waiting.shift()?.()
    },
  })
  const server = createServer().listen(0, '127.0.0.1')
  acceptUpgrades(server, {
    logger: silent,
    authenticate: (cellId, credential) => [A, B].includes(cellId) && credential === 'good',
    openMqtt: (socket, cellId) => bus.handle(socket, cellId),
    openLink: socket => socket.destroy(),
    draining: () => false,
  })
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  t.teardown(async () => {
    await bus.close()
    server.close()
    server.closeAllConnections()
  })
  const next = async (): Promise<Heard | undefined> => {
    if (heard.length === 0) await new Promise<void>(resolve => waiting.push(resolve))
    return heard.shift()
  }
  return { bus, port, seen, heard, next }
}

const upgrade = (port: number, authorization: string, protocol = 'mqtt', path = MQTT_PATH) => {
  const headers = { connection: 'Upgrade', upgrade: protocol, authorization }
  const asked = request({ port, host: '127.0.0.1', path, headers })
  asked.end()
  return asked
}

const basic = (cellId: string, credential: string): string =>
  `Basic ${Buffer.from(`${cellId}:${credential}`).toString('base64')}`

const dial = async (port: number, cellId: string): Promise<Socket> => {
  const [, socket] = (await once(upgrade(port, basic(cellId, 'good')), 'upgrade')) as [
    IncomingMessage,
    Socket,
  ]
  return socket
}

const connectAs = async (
  t: Test,
  port: number,
  cellId: string,
  options: Partial<IClientOptions> = {},
): Promise<MqttClient> => {
  const socket = await dial(port, cellId)
  const client = new MqttClient(() => socket, {
    clientId: cellId,
    username: cellId,
    password: 'good',
    protocolVersion: 4,
    reconnectPeriod: 0,
    queueQoSZero: false,
    ...options,
  })
  client.on('error', () => {})
  t.teardown(() => client.endAsync(true))
  return client
}

/** The arguments of the next event; unlike `once` of node:events an error does not end the wait. */
const emitted = (client: MqttClient, event: 'close' | 'connect' | 'message'): Promise<unknown[]> =>
  new Promise(resolve => client.once(event, (...args: unknown[]) => resolve(args)))

const online = async (client: MqttClient): Promise<MqttClient> => {
  if (!client.connected) await emitted(client, 'connect')
  return client
}

t.test('an upgrade', async t => {
  const { port } = await rig(t)
  for (const [title, headers, status] of [
    ['without a credential is 401', '', 401],
    ['with a wrong credential is 401', basic(A, 'bad'), 401],
    ['of an unknown cell is 401', basic(newId('cell'), 'good'), 401],
    ['with a key is 401', 'Bearer svc-dev-x', 401],
  ] as const)
    t.test(title, async t => {
      const [response] = (await once(upgrade(port, headers), 'response')) as [IncomingMessage]
      t.equal(response.statusCode, status)
      response.resume()
    })

  t.test('to another protocol is 426, on another path 404', async t => {
    for (const [protocol, path, status] of [
      ['websocket', MQTT_PATH, 426],
      ['mqtt', '/elsewhere', 404],
    ] as const) {
      const asked = upgrade(port, basic(A, 'good'), protocol, path)
      const [response] = (await once(asked, 'response')) as [IncomingMessage]
      t.equal(response.statusCode, status)
      response.resume()
    }
  })
})

t.test('a cell', async t => {
  t.test('publishes on its own topics, which renews its lease', async t => {
    const { port, seen, next } = await rig(t)
    const client = await online(await connectAs(t, port, A))
    await client.publishAsync(topicFor('state', A), 'x', { qos: 1, retain: true })
    t.strictSame(await next(), { name: 'state', cellId: A, text: 'x' })
    t.ok(seen.includes(A))
  })

  t.test('hears what the coordinator tells it and nothing of another cell', async t => {
    const { bus, port } = await rig(t)
    const a = await online(await connectAs(t, port, A))
    const b = await online(await connectAs(t, port, B))
    await a.subscribeAsync(topicFor('rebirth', A), { qos: 1 })
    await b.subscribeAsync(topicFor('rebirth', B), { qos: 1 })
    const foreign: string[] = []
    b.on('message', topic => foreign.push(topic))
    const message = emitted(a, 'message')
    await bus.publish('rebirth', A, 'rebirth', {})
    const [topic, payload] = await message
    t.equal(topic, topicFor('rebirth', A))
    t.match(JSON.parse(String(payload)), { v: 1, sender: 'coordinator', epoch: 1, type: 'rebirth' })
    t.strictSame(foreign, [])
  })

  t.test('that dies without a word is told of by its last will', async t => {
    const { port, next } = await rig(t)
    const will = {
      topic: topicFor('state', A),
      payload: Buffer.from('gone'),
      qos: 1 as const,
      retain: true,
    }
    const client = await online(await connectAs(t, port, A, { will }))
    ;(client.stream as Socket).destroy()
    t.strictSame(await next(), { name: 'state', cellId: A, text: 'gone' })
  })

  for (const [title, topic] of [
    ['another cell\u2019s topic', topicFor('state', B)],
    ['its own topic that only the coordinator writes', topicFor('rebirth', A)],
    ['the coordinator\u2019s topic', topicFor('coordinator', A)],
    ['a topic that is not in the table', `shoal/v1/cells/${A}/other`],
    ['a system topic', '$SYS/x'],
  ] as const)
    t.test(`that publishes on ${title} is cut off and nothing is delivered`, async t => {
      const { heard, port } = await rig(t)
      const client = await online(await connectAs(t, port, A))
      const closed = emitted(client, 'close')
      client.publish(topic, 'evil', { qos: 0 })
      await closed
      t.strictSame(heard, [])
    })

  t.test('may subscribe to no foreign topic and to no wildcard', async t => {
    const { port } = await rig(t)
    const client = await online(await connectAs(t, port, A))
    for (const filter of [
      '#',
      '+/+/+/+/+',
      'shoal/v1/#',
      `shoal/v1/cells/${A}/+`,
      topicFor('rebirth', B),
      topicFor('state', A),
      '$SYS/#',
      `$share/g/${topicFor('rebirth', A)}`,
    ]) {
      const granted = await client.subscribeAsync(filter, { qos: 1 }).catch(() => [])
      t.notOk(
        granted.some(({ qos }) => qos !== 128),
        filter,
      )
    }
  })

  for (const [title, options] of [
    ['another client id', { clientId: B }],
    ['another user name', { username: B }],
    ['a wrong password', { password: 'bad' }],
    [
      'a last will on another cell',
      {
        will: {
          topic: topicFor('state', B),
          payload: Buffer.from('x'),
          qos: 0 as const,
          retain: false,
        },
      },
    ],
  ] as const)
    t.test(`that connects with ${title} is refused`, async t => {
      const { heard, port } = await rig(t)
      const client = await connectAs(t, port, A, options)
      let connected = false
      client.on('connect', () => {
        connected = true
      })
      await emitted(client, 'close')
      t.notOk(connected)
      t.strictSame(heard, [])
    })

  t.test('whose credential is revoked can be disconnected at once', async t => {
    const { bus, port } = await rig(t)
    const client = await online(await connectAs(t, port, A))
    const closed = emitted(client, 'close')
    bus.disconnect(A)
    await closed
    t.notOk(client.connected)
  })

  t.test('that connects twice keeps the newer connection', async t => {
    const { bus, port } = await rig(t)
    const first = await online(await connectAs(t, port, A))
    const closed = emitted(first, 'close')
    const second = await online(await connectAs(t, port, A))
    await closed
    await second.subscribeAsync(topicFor('rebirth', A), { qos: 1 })
    const message = emitted(second, 'message')
    await bus.publish('rebirth', A, 'rebirth', {})
    t.ok(await message)
  })
})

t.test('the inbox drops what does not fit and passes on what does', async t => {
  const calls: unknown[] = []
  const note =
    (name: string) =>
    (...args: unknown[]) =>
      void calls.push([name, ...args])
  const inbox = createInbox({
    fleet: { birth: note('birth'), state: note('state'), sample: note('sample') },
    logger: silent,
    born: note('born'),
  })
  const bytes = (value: unknown) => Buffer.from(JSON.stringify(value))
  for (const payload of [
    Buffer.from('{'),
    bytes(null),
    bytes({}),
    bytes(envelope(B, 1, 'state', { state: 'ready' })),
    bytes({ ...envelope(A, 1, 'state', { state: 'ready' }), v: 2 }),
    bytes({ ...envelope(A, 1, 'state', { state: 'ready' }), epoch: -1 }),
    bytes(envelope(A, 1, 'state', { state: 'flying' })),
  ])
    inbox('state', A, payload)
  inbox(
    'telemetry',
    A,
    bytes(envelope(A, 1, 'sample', { taken_at: 1, host: { cpu_percent: 900 } })),
  )
  t.strictSame(calls, [])
  inbox('state', A, bytes(envelope(A, 5, 'state', { state: 'draining' })))
  t.strictSame(calls, [['state', A, 5, 'draining']])
})
