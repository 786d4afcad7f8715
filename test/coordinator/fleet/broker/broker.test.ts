import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import t from 'tap'
import { mayPublish, maySubscribe } from '../../../../coordinator/fleet/broker/access.ts'
import { createInbox } from '../../../../coordinator/fleet/broker/inbox.ts'
import { newId } from '../../../../shared/ids.ts'
import { envelope } from '../../../../shared/wire/envelope.ts'
import { MQTT_PATH } from '../../../../shared/wire/link.ts'
import { busRig, makeEmbeddedBus } from '../../../support/bus.ts'
import { silent } from '../../../support/cell.ts'

/* What stands before and behind every broker; `contract.ts` tells what holds for the broker. */

const A = newId('cell')
const B = newId('cell')

const upgrade = (port: number, authorization: string, protocol = 'mqtt', path = MQTT_PATH) => {
  const headers = { connection: 'Upgrade', upgrade: protocol, authorization }
  const asked = request({ port, host: '127.0.0.1', path, headers })
  asked.end()
  return asked
}

const basic = (cellId: string, credential: string): string =>
  `Basic ${Buffer.from(`${cellId}:${credential}`).toString('base64')}`

t.test('an upgrade', async t => {
  const { port } = await busRig(t, makeEmbeddedBus)
  for (const [title, headers, status] of [
    ['without a credential is 401', '', 401],
    ['with a wrong credential is 401', basic(A, 'bad'), 401],
    ['with a key is 401', 'Bearer svc-dev-x', 401],
  ] as const)
    t.test(title, async t => {
      const [response] = (await once(upgrade(port, headers), 'response')) as [IncomingMessage]
      t.equal(response.statusCode, status)
      response.resume()
    })

  t.test('to another protocol gets 426, and on another path 404', async t => {
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

t.test('only commands and their acks have an id, and it is required there', async t => {
  const id = newId('cmd')
  for (const [topic, mayUse] of [
    [`shoal/v1/cells/${A}/ack/${id}`, true],
    [`shoal/v1/cells/${A}/ack`, false],
    [`shoal/v1/cells/${A}/ack/x`, false],
    [`shoal/v1/cells/${A}/ack/+`, false],
    [`shoal/v1/cells/${A}/ack/${id}/more`, false],
    [`shoal/v1/cells/${A}/state/${id}`, false],
    [`shoal/v1/cells/${B}/ack/${id}`, false],
    [`shoal/v1/cells/${A}/cmd/${id}`, false],
  ] as const)
    t.equal(mayPublish(A, { topic, qos: 1 }), mayUse, topic)
  for (const [filter, mayUse] of [
    [`shoal/v1/cells/${A}/cmd/+`, true],
    [`shoal/v1/cells/${A}/cmd/#`, false],
    [`shoal/v1/cells/${A}/+/+`, false],
    [`shoal/v1/cells/${B}/cmd/+`, false],
    [`shoal/v1/cells/${A}/ack/+`, false],
    [`shoal/v1/cells/+/cmd/+`, false],
  ] as const)
    t.equal(maySubscribe(A, filter), mayUse, filter)
})

t.test('the inbox drops invalid messages and passes on valid ones', async t => {
  const calls: unknown[] = []
  const note =
    (name: string) =>
    (...args: unknown[]) =>
      void calls.push([name, ...args])
  const inbox = createInbox({
    fleet: { birth: note('birth'), state: note('state'), sample: note('sample') },
    logger: silent,
    onBirth: note('born'),
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
  inbox('state', A, bytes(envelope(A, 5, 'state', { state: 'stopped' })))
  t.strictSame(calls, [
    ['state', A, 5, 'draining'],
    ['state', A, 5, 'stopped'],
  ])
})
