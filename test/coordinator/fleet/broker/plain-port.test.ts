import { once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { openPlainPort } from '../../../../coordinator/fleet/broker/plain-port.ts'
import { Budgets } from '../../../../coordinator/kernel/budgets/budgets.ts'
import { LimitsConfig } from '../../../../coordinator/kernel/budgets/limits-config.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { newId } from '../../../../shared/ids.ts'
import { topicFor } from '../../../../shared/wire/topics.ts'
import { busRig, loginOf, makeEmbeddedBus } from '../../../support/bus.ts'
import { silent } from '../../../support/cell.ts'
import { RawMqtt } from '../../../support/raw-mqtt.ts'

type PlainPortParts = Parameters<typeof openPlainPort>[0]

const A = newId('cell')
const B = newId('cell')

/** The port in front of a real broker; every cell has the credential `good`. */
const openTestPort = async (t: Test, more: Partial<PlainPortParts> = {}) => {
  const rig = await busRig(t, makeEmbeddedBus)
  const asked: string[] = []
  const plain = await openPlainPort({
    bus: rig.bus,
    authenticate: async (cellId, credential) => {
      asked.push(cellId)
      return credential === 'good'
    },
    strangers: new Budgets(LimitsConfig.parse({})).mqttStrangers,
    isLeaving: () => false,
    logger: silent,
    port: 0,
    ...more,
  })
  t.teardown(plain.close)
  const dial = async (localAddress = '127.0.0.1'): Promise<RawMqtt> => {
    const port = Number(new URL(plain.url).port)
    const socket = connect({ port, host: '127.0.0.1', localAddress })
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    return new RawMqtt(socket)
  }
  return { ...rig, plain, asked, dial }
}

t.test('the plain MQTT port', async t => {
  t.test('admits a cell that CONNECT authenticates, with the rights of that cell', async t => {
    const { dial, next, plain } = await openTestPort(t)
    t.match(plain.url, /^mqtt:\/\/127\.0\.0\.1:\d+$/)
    const client = await dial()
    t.equal((await client.connect(loginOf(A))).returnCode, 0)
    client.publish(topicFor('state', A), 'here')
    t.match(await next(), { name: 'state', cellId: A, text: 'here' })
    client.publish(topicFor('state', B), 'not mine')
    await client.closed
  })

  t.test('loses no data that arrives together with CONNECT, or in pieces', async t => {
    const { dial, next } = await openTestPort(t)
    const client = await dial()
    client.socket.cork()
    const answer = client.connect(loginOf(A))
    client.publish(topicFor('state', A), 'at once')
    client.socket.uncork()
    t.equal((await answer).returnCode, 0)
    t.match(await next(), { text: 'at once' })
  })

  for (const [what, login] of [
    ['a wrong credential', { ...loginOf(A), password: Buffer.from('bad') }],
    ['no credential', { clientId: A }],
  ] as const)
    t.test(`refuses ${what}`, async t => {
      const { dial, seen } = await openTestPort(t)
      const client = await dial()
      t.equal((await client.connect(login)).returnCode, 5)
      await client.closed
      t.strictSame(seen, [], 'the broker hears nothing of it')
    })

  t.test('refuses MQTT 3.1 with the code for the version, and asks for no credential', async t => {
    const { dial, asked } = await openTestPort(t)
    const client = await dial()
    const version = { protocolId: 'MQIsdp', protocolVersion: 3 } as const
    t.equal((await client.connect({ ...loginOf(A), ...version })).returnCode, 1)
    await client.closed
    t.strictSame(asked, [])
  })

  for (const [where, addresses] of [
    ['of one address', ['127.0.0.1']],
    [
      'of many addresses',
      Array.from({ length: 300 }, (_, n) => `127.0.${n >> 7}.${(n % 128) + 9}`),
    ],
  ] as const)
    t.test(`admits a cell while silent sockets ${where} use up the room`, async t => {
      const { dial } = await openTestPort(t)
      const silent = []
      for (let n = 0; n < 600; n++) silent.push(await dial(addresses[n % addresses.length]))
      await silent[0]?.closed
      t.equal((await (await dial()).connect(loginOf(A))).returnCode, 0)
      t.equal(silent.at(-1)?.socket.destroyed, false, 'the newest ones may stay')
    })

  t.test('tells a cell that connects too often that it cannot be served now', async t => {
    const handle = () => {
      throw new ShoalError('rate_limited', 'too often')
    }
    const { dial } = await openTestPort(t, { bus: { handle } })
    const client = await dial()
    t.equal((await client.connect(loginOf(A))).returnCode, 3)
    await client.closed
  })

  t.test('refuses a client id other than that of the cell', async t => {
    const { dial } = await openTestPort(t)
    const client = await dial()
    await client.connect({ ...loginOf(A), clientId: B }).catch(() => {})
    await client.closed
  })

  for (const [what, bytes] of [
    ['something that is not MQTT', Buffer.from('GET / HTTP/1.1\r\n\r\n'.repeat(20))],
    ['another packet first', Buffer.from([0xc0, 0])],
    [
      'a CONNECT that never ends',
      Buffer.concat([Buffer.from([0x10, 0xff, 0xff, 0x7f]), Buffer.alloc(20_000)]),
    ],
  ] as const)
    t.test(`disconnects ${what} without processing it`, async t => {
      const { dial, asked } = await openTestPort(t)
      const client = await dial()
      client.send(bytes)
      await client.closed
      t.strictSame(asked, [])
    })

  t.test('disconnects silent clients, and all clients while the coordinator stops', async t => {
    const silence = await openTestPort(t, { connectTimeoutMs: 1 })
    await (await silence.dial()).closed
    const stopping = await openTestPort(t, { isLeaving: () => true })
    await (await stopping.dial()).closed
    t.strictSame([...silence.asked, ...stopping.asked], [])
  })

  t.test('that is in use causes a clear error', async t => {
    const { plain } = await openTestPort(t)
    const port = Number(new URL(plain.url).port)
    await t.rejects(openTestPort(t, { port }), {
      code: 'address_in_use',
      message: `port ${port} on 127.0.0.1 is in use; choose another with mqtt.port`,
    })
  })
})
