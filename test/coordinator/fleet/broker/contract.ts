import t from 'tap'
import type { BusParts } from '../../../../coordinator/fleet/broker/bus.ts'
import { newId } from '../../../../shared/ids.ts'
import { topicFor } from '../../../../shared/wire/topics.ts'
import { type BusRig, busRig, loginOf, type MakeBus } from '../../../support/bus.ts'

const A = newId('cell')
const B = newId('cell')

/** What holds for every bus, whatever broker is behind it. */
export const contract = (name: string, makeBus: MakeBus, skip: string | false = false): void => {
  t.test(`a cell on ${name}`, { skip }, async t => {
    const rig = await busRig(t, makeBus)
    const { bus, seen, next, dial, online } = rig

    t.test('publishes on its own topics, which renews its lease', async t => {
      const client = await online(A)
      client.publish(topicFor('state', A), 'here', { qos: 1, retain: true })
      t.equal((await client.next('puback'))?.messageId, 7)
      t.strictSame(await next(), { name: 'state', cellId: A, text: 'here' })
      t.ok(seen.includes(A))
    })

    t.test('receives its own messages from the coordinator and none of another cell', async t => {
      const client = await online(A)
      t.equal(await client.subscribe(topicFor('rebirth', A), 1), 1)
      await bus.publish('rebirth', B, 'rebirth', {})
      await bus.publish('rebirth', A, 'rebirth', {})
      const message = await client.next('publish')
      t.match(message, { topic: topicFor('rebirth', A), retain: false })
      t.match(JSON.parse(String(message?.payload)), { sender: 'coordinator', type: 'rebirth' })
    })

    t.test('receives the same message as others, on its own topic', async t => {
      const clients = [await online(A), await online(B)]
      const topics = [topicFor('rebirth', A), topicFor('rebirth', B)]
      for (const [at, client] of clients.entries()) await client.subscribe(topics[at] ?? '', 1)
      const absent = newId('cell')
      await Promise.all(bus.publishToEach('rebirth', [A, absent, B], 'rebirth', { all: 1 }))
      const messages = await Promise.all(clients.map(client => client.next('publish')))
      t.match(messages, [
        { topic: topics[0], qos: 1, retain: false },
        { topic: topics[1], qos: 1, retain: false },
      ])
      t.strictSame(messages[0]?.payload, messages[1]?.payload)
    })

    t.test('receives its own commands, and its acks are received', async t => {
      const client = await online(A)
      t.equal(await client.subscribe(topicFor('cmd', A), 1), 1)
      const id = newId('cmd')
      await bus.publish('cmd', A, 'cmd', { id }, id)
      t.equal((await client.next('publish'))?.topic, topicFor('cmd', A, id))
      client.publish(topicFor('ack', A, id), 'done', { qos: 1 })
      t.strictSame(await next(), { name: 'ack', cellId: A, text: 'done' })
    })

    t.test(
      'gets no PUBACK for findings that are not stored, and one as soon as they are',
      async t => {
        const stored = Promise.withResolvers<void>()
        const receive: BusParts['receive'] = (_name, _cellId, payload) => {
          if (String(payload) === 'refused') return Promise.reject(new Error('no room'))
          return String(payload) === 'slow' ? stored.promise : undefined
        }
        const client = await (await busRig(t, makeBus, { receive })).online(A)
        const publish = (topic: 'findings' | 'state', messageId: number, payload: string) =>
          client.send({
            ...{ cmd: 'publish', topic: topicFor(topic, A), payload, messageId },
            ...{ qos: 1, dup: false, retain: false },
          })
        publish('findings', 1, 'refused')
        publish('findings', 2, 'slow')
        publish('findings', 3, 'invalid')
        publish('state', 4, 'here')
        const others = [await client.next('puback'), await client.next('puback')]
        t.strictSame(others.map(packet => packet?.messageId).toSorted(), [3, 4])
        stored.resolve()
        t.equal((await client.next('puback'))?.messageId, 2)
        t.ok(await client.ping())
        t.strictSame(client.listPendingPackets(), [])
      },
    )

    t.test('that dies without notice is announced by its last will', async t => {
      const client = await dial(A)
      const will = willOn(topicFor('state', A))
      await client.connect({ ...loginOf(A), will })
      client.socket.destroy()
      t.strictSame(await next(), { name: 'state', cellId: A, text: 'gone' })
    })

    t.test('that disconnects properly is not announced by its last will', async t => {
      const client = await dial(A)
      await client.connect({ ...loginOf(A), will: willOn(topicFor('state', A)) })
      client.send({ cmd: 'disconnect' })
      await client.closed
      t.strictSame(await heardUntilMarker(rig), [])
    })

    for (const [title, topic] of [
      ['another cell\u2019s topic', topicFor('state', B)],
      ['its own topic that only the coordinator writes', topicFor('rebirth', A)],
      ['the coordinator\u2019s topic', topicFor('coordinator', A)],
      ['a command to another cell', topicFor('cmd', B, newId('cmd'))],
      ['a command to itself', topicFor('cmd', A, newId('cmd'))],
      ['the ack of another cell', topicFor('ack', B, newId('cmd'))],
      ['a topic that is not in the table', `shoal/v1/cells/${A}/other`],
      ['a system topic', '$SYS/x'],
    ] as const)
      t.test(`that publishes on ${title} is disconnected and nothing is delivered`, async t => {
        const client = await online(A)
        client.publish(topic, 'evil')
        await client.closed
        t.strictSame(await heardUntilMarker(rig), [])
      })

    for (const filter of [
      '#',
      '+/+/+/+/+',
      'shoal/v1/#',
      `shoal/v1/cells/${A}/+`,
      topicFor('rebirth', B),
      topicFor('cmd', B),
      topicFor('ack', A),
      `shoal/v1/cells/${A}/+/+`,
      topicFor('state', A),
      '$SYS/#',
      `$share/g/${topicFor('rebirth', A)}`,
    ])
      t.test(`may not subscribe to ${filter.replaceAll(A, 'A').replaceAll(B, 'B')}`, async t => {
        const client = await online(A)
        const granted = await client.subscribe(filter)
        t.ok(granted === 128 || granted === undefined)
      })

    for (const [title, options] of [
      ['another client id', { clientId: B }],
      ['another user name', { username: B }],
      ['a wrong password', { password: Buffer.from('bad') }],
      ['no password', { username: A, password: undefined }],
      ['a last will on another cell', { will: willOn(topicFor('state', B)) }],
      ['a session that outlives it', { clean: false }],
    ] as const)
      t.test(`that connects with ${title} is refused`, async t => {
        const client = await dial(A)
        const { password, ...rest } = { ...loginOf(A), ...options }
        const answer = await client
          .connect({ ...rest, ...(password && { password }) })
          .catch(() => undefined)
        t.not(answer?.returnCode, 0)
        await client.closed
        t.strictSame(await heardUntilMarker(rig), [])
      })

    for (const version of [
      { protocolId: 'MQIsdp', protocolVersion: 3 },
      { protocolId: 'MQTT', protocolVersion: 5 },
    ] as const)
      t.test(`that speaks ${version.protocolId} ${version.protocolVersion} is told so`, async t => {
        const client = await dial(A)
        t.equal((await client.connect({ ...loginOf(A), ...version })).returnCode, 1)
        await client.closed
      })

    for (const keepalive of [0, 61])
      t.test(
        `that connects with a keep alive of ${keepalive} s is closed without CONNACK`,
        async t => {
          const client = await dial(A)
          await t.rejects(client.connect({ ...loginOf(A), keepalive }), /ended before CONNACK/)
        },
      )

    t.test('that connects with the longest keep alive is accepted', async t => {
      const client = await dial(A)
      t.equal((await client.connect({ ...loginOf(A), keepalive: 60 })).returnCode, 0)
    })

    t.test('that sends anything before CONNECT is disconnected', async t => {
      const client = await dial(A)
      client.publish(topicFor('state', A), 'early')
      await client.closed
      t.strictSame(await heardUntilMarker(rig), [])
    })

    t.test('that connects twice keeps the newer connection, and this is reported', async t => {
      const first = await online(A)
      rig.takeovers.length = 0
      const second = await online(A)
      await first.closed
      t.strictSame(rig.takeovers, [{ cellId: A }])
      await second.subscribe(topicFor('rebirth', A), 1)
      await bus.publish('rebirth', A, 'rebirth', {})
      t.ok(await second.next('publish'))
    })

    t.test('that reconnects is not reported as lost by the will of its old connection', async t => {
      const will = willOn(topicFor('state', A))
      const old = await dial(A)
      await old.connect({ ...loginOf(A), will })
      const anew = await dial(A)
      await anew.connect({ ...loginOf(A), will })
      await old.closed
      t.strictSame(await heardUntilMarker(rig), [])
      anew.socket.destroy()
      t.match(await next(), { cellId: A, text: 'gone' }, 'the will of its last connection counts')
    })

    t.test('that is revoked is disconnected at once', async t => {
      const client = await online(A)
      bus.disconnect(A)
      await client.closed
      t.pass()
    })

    t.test('cannot have messages retained for others', async t => {
      const client = await online(A)
      client.publish(topicFor('state', A), 'poison', { qos: 1, retain: true })
      await next()
      const fresh = await online(A)
      await fresh.subscribe(topicFor('rebirth', A), 1)
      t.ok(await fresh.ping())
      t.strictSame(fresh.listPendingPackets(), [])
    })
  })
}

const willOn = (topic: string) => ({
  topic,
  payload: Buffer.from('gone'),
  qos: 1 as const,
  retain: true,
})

/** What was received before a message that another cell sends now. */
const heardUntilMarker = async ({ online, next }: BusRig): Promise<unknown[]> => {
  const marker = await online(B)
  marker.publish(topicFor('state', B), 'marker', { qos: 1 })
  const heard: unknown[] = []
  for (;;) {
    const message = await next()
    if (message.cellId === B && message.text === 'marker') break
    heard.push(message)
  }
  marker.send({ cmd: 'disconnect' })
  await marker.closed
  return heard
}
