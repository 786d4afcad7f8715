import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import type { LinkContext } from '../../../devices/device-link.ts'
import { HttpLinkConfig } from '../../../devices/links/http/config.ts'
import { HttpLink } from '../../../devices/links/http/http-link.ts'
import type { Json } from '../../../devices/profile.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { testDeviceLink } from '../../contracts/device-link.ts'
import { createEnd, createLinkContext } from '../../support/link-context.ts'
import { waitUntil } from '../../support/wait-until.ts'

const TOKEN = 'Bearer canary-of-the-kiln'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A kiln with a REST interface that does what it is told. */
const startKiln = async (t: Test) => {
  const kiln = {
    url: '',
    state: { heater: { celsius: 21.5, on: false }, mode: 'idle\u0007' } as object,
    received: [] as Json[],
    tokens: new Set<string | undefined>(),
    isHanging: false,
    answer: undefined as Answer | undefined,
  }
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request
    kiln.tokens.add(headers.authorization)
    if (kiln.answer !== undefined) return kiln.answer(request, response)
    if (method === 'GET') return response.end(JSON.stringify(kiln.state))
    const body = Number(headers['content-length']) > 0 ? ((await json(request)) as Json) : undefined
    kiln.received.push({ method, url: kiln.url + url, ...(body !== undefined && { body }) })
    if (!kiln.isHanging || url === '/off') response.end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  kiln.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return kiln
}

const openLink = (
  t: Test,
  url: string,
  {
    context = createLinkContext(t),
    signal = createEnd(t),
    hasState = true,
    ...more
  }: {
    context?: LinkContext
    signal?: AbortSignal
    max_answer_bytes?: number
    hasState?: boolean
  } = {},
) => {
  const config = HttpLinkConfig.parse({
    kind: 'http',
    name: 'kiln',
    url,
    authorization_file: TOKEN,
    ...(hasState && {
      state: { path: '/state?all=1', every_seconds: 1 },
      properties: {
        temperature_celsius: { pointer: '/heater/celsius', unit: '°C' },
        on: { pointer: '/heater/on', type: 'boolean' },
        mode: { pointer: '/mode', type: 'text' },
      },
    }),
    verbs: {
      heat: {
        description: 'Heat up to a temperature.',
        params: {
          celsius: { type: 'number', min: 20, max: 1200 },
          program: { type: 'text' },
        },
        method: 'PUT',
        path: '/programs/{program}/start',
        body: { target: '{celsius}', note: 'by {program}' },
      },
      off: { description: 'Switch the heater off.', hazard: 'caution', path: '/off' },
    },
    estop_verb: 'off',
    ...more,
  })
  const link = new HttpLink(config, context)
  link.start(signal)
  const device = () => {
    const [one] = link.list()
    if (one === undefined) throw new Error('the link lists nothing')
    return one
  }
  const value = (name: string) => link.readState(device().deviceId)?.readings[name]?.value
  const plan = (verb: string, params: object = {}): Json[] => {
    const { profile, deviceId, options } = device()
    const target = { device_id: deviceId, options, envelope: {} }
    return (
      profile.verbs[verb]?.plan(profile.verbs[verb].params.parse(params), target).operations ?? []
    )
  }
  const execute = (verb: string, params: object = {}) =>
    link.execute(device().deviceId, plan(verb, params), {
      signal: AbortSignal.timeout(5000),
      report: () => {},
      bounds: {},
    })
  const waitReady = () => waitUntil('the state is read', () => device().available)
  return { link, device, value, plan, execute, waitReady }
}

t.test('the state is read again and again, by pointers of the configuration', async t => {
  const kiln = await startKiln(t)
  const { value, waitReady, device } = openLink(t, kiln.url)
  await waitReady()
  t.equal(value('temperature_celsius'), 21.5)
  t.equal(value('on'), false)
  t.equal(value('mode'), 'idle\\u{7}')
  t.strictSame([...kiln.tokens], [TOKEN])
  kiln.state = { heater: { celsius: 'hot' } }
  kiln.answer = (_request, response) => response.writeHead(500).end()
  await waitUntil('the failure is seen', () => !device().available)
  t.match(device().reason, /answers 500/)
  t.equal(value('temperature_celsius'), 21.5, 'the last reading keeps its time')
})

t.test('a device without a state is available once its address was reached', async t => {
  const kiln = await startKiln(t)
  const reached = openLink(t, kiln.url, { hasState: false })
  t.match(reached.device(), { available: false, reason: 'its address was not reached yet' })
  await reached.waitReady()
  t.match(await reached.execute('off'), { result: { statuses: [200] } })
  const closed = openLink(t, 'http://127.0.0.1:1', { hasState: false })
  await waitUntil('the failure is seen', () => /ECONNREFUSED/.test(`${closed.device().reason}`))
  t.match(closed.device(), { available: false, reason: /^it cannot be reached: / })
})

t.test('a declared verb is unsafe unless it says otherwise, and stays in its path', async t => {
  const kiln = await startKiln(t)
  const { plan, device, execute } = openLink(t, kiln.url)
  t.equal(device().profile.id, 'http-generic-kiln')
  t.equal(device().profile.verbs.heat?.hazard, 'unsafe')
  t.strictSame(plan('heat', { celsius: 900, program: 'bisque fire/1?x' }), [
    {
      method: 'PUT',
      url: `${kiln.url}/programs/bisque%20fire%2F1%3Fx/start`,
      body: { target: 900, note: 'by bisque fire/1?x' },
    },
  ])
  for (const program of ['..', '"', 'a\nb'])
    t.throws(() => plan('heat', { celsius: 900, program }), { code: 'invalid_request' })
  t.throws(() => plan('heat', { celsius: 1201, program: 'x' }))
  t.strictSame(await execute('heat', { celsius: 900, program: 'x' }), {
    asked: { sent: [{ name: 'PUT /programs/x/start', answer: '200' }] },
    seen: { state: 'unknown', at: null, values: {} },
    result: { statuses: [200] },
  })
})

t.test('redirects, failures and large answers are errors', async t => {
  const kiln = await startKiln(t)
  const { execute } = openLink(t, kiln.url, { max_answer_bytes: 2048 })
  const elsewhere = { location: 'http://192.0.2.1/' }
  for (const [answer, message] of [
    [(_, response) => response.writeHead(302, elsewhere).end(), /302, a redirect/],
    [(_, response) => response.writeHead(404).end(), /404/],
    [(_, response) => response.end('x'.repeat(5000)), /more than 2048 bytes/],
    [request => request.destroy(), /did not answer/],
  ] as [Answer, RegExp][]) {
    kiln.answer = answer
    await t.rejects(execute('off'), { name: 'DeviceFailure', message })
  }
})

t.test('an address outside the scope is never connected to', async t => {
  const kiln = await startKiln(t)
  const resolveHost = async () => {
    throw new ShoalError('scope_denied', '127.0.0.1 is not in devices.scope')
  }
  const { execute, device } = openLink(t, kiln.url, {
    context: createLinkContext(t, { resolveHost }),
  })
  await t.rejects(execute('off'), { name: 'DeviceFailure', reason: 'scope_denied' })
  await waitUntil('the reason is shown', () => device().reason?.includes('devices.scope'))
  t.equal(kiln.tokens.size, 0)
})

t.test('an HTTP link keeps the contract of links', async t => {
  testDeviceLink(t, {
    open: async t => {
      const kiln = await startKiln(t)
      const end = new AbortController()
      t.teardown(() => end.abort())
      const { link, waitReady } = openLink(t, kiln.url, { signal: end.signal })
      await waitReady()
      return {
        link,
        listReceived: () => kiln.received,
        hang: () => {
          kiln.isHanging = true
        },
        hasStopped: () => JSON.stringify(kiln.received).includes('/off'),
        end: () => end.abort(),
      }
    },
    uses: [
      { device: 'kiln', verb: 'heat', params: { celsius: 200, program: 'dry' } },
      { device: 'kiln', verb: 'off', params: {} },
    ],
    hanging: { device: 'kiln', verb: 'heat', params: { celsius: 200, program: 'dry' } },
    secrets: [TOKEN],
  })
})
