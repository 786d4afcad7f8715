import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { appWith, config, keyOfTier } from '../../../support/app.ts'
import { silent } from '../../../support/cell.ts'
import { createEvents } from '../../../support/memory-events.ts'

const CALLS_PER_MINUTE = 60

const scene = async (t: Test, settings: object = {}) => {
  const events = createEvents({ source: '/shoal/test', logger: silent })
  const keys: Record<string, ReturnType<typeof keyOfTier>> = {
    client: keyOfTier('free'),
    operator: { ...keyOfTier('free'), id: 'o', roles: ['reviewer'] },
  }
  const app = await appWith({
    events,
    config: config({ events: settings }),
    keys: { authenticate: presented => keys[presented] },
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const open = async (key: string, query = '', headers: object = {}) => {
    const request = get({
      port,
      path: `/v1/events${query}`,
      host: '127.0.0.1',
      headers: { authorization: `Bearer ${key}`, ...headers },
    })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    let text = ''
    response.setEncoding('utf8').on('data', piece => {
      text += piece
    })
    const closed = new Promise(resolve => response.once('close', resolve))
    response.on('error', () => {})
    const readUntil = async (pattern: RegExp): Promise<string> => {
      while (!pattern.test(text)) await once(response, 'data')
      return text
    }
    return { response, readUntil, closed, leave: () => request.destroy() }
  }
  return { app, events, keys, open }
}

t.test('an operator receives events with the headers of every answer', async t => {
  const { events, open } = await scene(t)
  const stream = await open('operator', '?types=shoal.cell.*')
  await stream.readUntil(/retry/)
  t.match(stream.response.headers, {
    'content-type': /^text\/event-stream/,
    'cache-control': 'no-cache',
    'x-shoal-version': /\d/,
    'x-ratelimit-limit': '1000',
  })
  events.publish('shoal.alert.raised', null)
  const { id } = events.publish('shoal.cell.ready', { a: 1 }, 'cell_1')
  const text = await stream.readUntil(/ready/)
  t.match(text, new RegExp(`id: ${id}\ndata: .*"subject":"cell_1"`))
  t.notMatch(text, /alert/)
  events.publish('shoal.cell.dead', null)
  const again = await open('operator', '', { 'last-event-id': id })
  t.match(await again.readUntil(/dead/), /^retry: \d+\n\nid: /)
})

t.test('HEAD has the headers of a stream and ends', async t => {
  const { app } = await scene(t, { max_streams_per_key: 1 })
  for (const path of ['/v1/events', '/a2a/discovery/subscribe', '/v1/events'])
    t.match(
      await app.inject({
        method: 'HEAD',
        url: path,
        headers: { authorization: 'Bearer operator', host: 'localhost' },
      }),
      { statusCode: 200, body: '', headers: { 'content-type': /^text\/event-stream/ } },
      path,
    )
})

t.test('the query is validated', async t => {
  const { app } = await scene(t)
  for (const [key, url, headers, status] of [
    ['none', '/v1/events', {}, 401],
    ['client', '/v1/events?types=x', {}, 422],
    ['client', '/v1/events?types=shoal.gates.*', {}, 422],
    ['client', '/v1/events?types=shoal.cell.*&types=shoal.gate.*', {}, 422],
    ['client', '/v1/events?other=1', {}, 422],
    ['client', '/v1/events', { 'last-event-id': 'a b' }, 422],
    ['client', '/v1/events', { 'x-svc-tenant': 'foreign' }, 403],
    ['none', '/a2a/discovery/subscribe', {}, 401],
    ['client', '/a2a/discovery/subscribe', {}, 403],
  ] as const) {
    const answer = await app.inject({
      url,
      headers: { authorization: `Bearer ${key}`, ...headers },
    })
    t.equal(answer.statusCode, status, `${url} ${JSON.stringify(headers)}`)
  }
})

t.test('the streams per key are limited, and a closed one frees its place', async t => {
  const { app, open } = await scene(t, { max_streams_per_key: 1, max_streams: 2 })
  const headers = { authorization: 'Bearer client' }
  const requestStream = () => app.inject({ url: '/v1/events', headers })
  const first = await open('client')
  t.match(await requestStream(), { statusCode: 429, headers: { 'retry-after': '10' } })
  await open('operator')
  first.leave()
  await first.closed
  for (;;) {
    const next = await open('client')
    if (next.response.statusCode === 200) break
    await next.closed
  }
  t.pass('it has come in again')
})

t.test('streams and other calls of a key share one minute', async t => {
  const { app, open } = await scene(t)
  const headers = { authorization: 'Bearer client' }
  for (let calls = 0; calls < CALLS_PER_MINUTE; calls++)
    await app.inject({ url: '/v1/skills', headers })
  const { response } = await open('client')
  t.equal(response.statusCode, 429)
})

t.test('a revoked key receives an error event and nothing more', async t => {
  const { events, keys, open } = await scene(t)
  const stream = await open('operator')
  await stream.readUntil(/retry/)
  delete keys.operator
  t.match(await stream.readUntil(/\n\nevent: error\ndata: .*\n\n$/), /"code":"auth_required"/)
  await stream.closed
  t.doesNotThrow(() => events.publish('shoal.cell.ready', null))
})

t.test('a stream for another tenant ends when that tenant is disabled', async t => {
  const { keys, open } = await scene(t)
  const key = { ...keyOfTier('free'), id: 'o', furtherTenants: ['other'] }
  keys.operator = key
  const stream = await open('operator', '', { 'x-svc-tenant': 'other' })
  await stream.readUntil(/retry/)
  keys.operator = { ...key, disabledTenants: ['other'] }
  t.match(await stream.readUntil(/event: error\n.*\n\n$/), /"code":"tenant_forbidden"/)
  await stream.closed
})

t.test('a coordinator that closes ends its streams', async t => {
  const { app, open } = await scene(t)
  const stream = await open('operator')
  await stream.readUntil(/retry/)
  await Promise.all([app.close(), stream.closed])
  t.pass('it has ended')
})
