import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import t from 'tap'
import { jsonShape, parseJsonBody } from '../../../../coordinator/surfaces/http/json-body.ts'
import { findReadinessFault } from '../../../../coordinator/surfaces/http/readiness.ts'
import { networkOf } from '../../../../coordinator/surfaces/http/trusted-proxies.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { appWith, config, rawRequest } from '../../../support/app.ts'

const chat = { model: 'model-a:7b', messages: [{ role: 'user', content: 'hi' }] }
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const post = (payload: unknown, headers: Record<string, string> = bearer('free-key')) => ({
  method: 'POST' as const,
  url: '/v1/chat/completions',
  headers: { 'content-type': 'application/json', ...headers },
  payload: typeof payload === 'string' ? payload : JSON.stringify(payload),
})

t.test('errors state in words what is missing and where the API is', async t => {
  const app = await appWith()
  t.teardown(() => app.close())
  for (const [request, message] of [
    [post({ model: 'model-a:7b' }), /^messages is missing$/],
    [post({ ...chat, messages: [{ role: 'user' }] }), /^messages\.0\.content is missing$/],
    [post({ ...chat, messages: null }), /^messages: /],
    [{ url: '/models' }, /the API is under \/v1/],
    [{ url: '/v1' }, /^no route at \/v1; \/docs lists every route$/],
    [{ url: '/v1/images' }, /^no route at \/v1\/images; \/docs lists every route$/],
  ] as [InjectOptions, RegExp][])
    t.match((await app.inject(request)).json().error, { message })
})

t.test('every error has the OpenAI body with its code, on every route', async t => {
  const app = await appWith()
  t.teardown(() => app.close())
  const noType = { ...post(chat), headers: bearer('free-key') }
  for (const [title, request, status, code, param] of [
    ['no key', post(chat, {}), 401, 'auth_required', null],
    ['a wrong key', post(chat, bearer('nope')), 401, 'auth_required', null],
    ['another scheme', post(chat, { authorization: 'Basic eA==' }), 401, 'auth_required', null],
    [
      'a foreign tenant',
      post(chat, { ...bearer('free-key'), 'x-svc-tenant': 'x' }),
      403,
      'tenant_forbidden',
      'X-SVC-Tenant',
    ],
    ['an unknown path', { method: 'GET', url: '/v1/nothing' }, 404, 'not_found', null],
    [
      'a wrong method',
      { method: 'DELETE', url: '/v1/models', headers: bearer('free-key') },
      405,
      'method_not_allowed',
      null,
    ],
    ['no content type', noType, 415, 'unsupported_media_type', null],
    [
      'text',
      post('hi', { ...bearer('free-key'), 'content-type': 'text/plain' }),
      415,
      'unsupported_media_type',
      null,
    ],
    [
      'a form',
      post('a=1', { ...bearer('free-key'), 'content-type': 'application/x-www-form-urlencoded' }),
      415,
      'unsupported_media_type',
      null,
    ],
    [
      'another host',
      { ...post(chat), headers: { ...post(chat).headers, host: 'evil.example' } },
      421,
      'host_not_allowed',
      null,
    ],
    ['half a body', post('{"model":'), 422, 'invalid_request', null],
    [
      'a body of invalid UTF-8',
      { ...post(chat), payload: Buffer.from([0x22, 0xff, 0x22]) },
      422,
      'invalid_request',
      null,
    ],
    ['a list', post('[]'), 422, 'invalid_request', null],
    ['no model', post({ messages: chat.messages }), 422, 'invalid_request', 'model'],
    ['no messages', post({ ...chat, messages: [] }), 422, 'invalid_request', 'messages'],
    [
      'an unknown role',
      post({ ...chat, messages: [{ role: 'boss', content: 'x' }] }),
      422,
      'invalid_request',
      'messages.0.role',
    ],
    [
      'content that is a number',
      post({ ...chat, messages: [{ role: 'user', content: 1 }] }),
      422,
      'invalid_request',
      'messages.0.content',
    ],
    [
      'a temperature of 3',
      post({ ...chat, temperature: 3 }),
      422,
      'invalid_request',
      'temperature',
    ],
    ['max_tokens of 0', post({ ...chat, max_tokens: 0 }), 422, 'invalid_request', 'max_tokens'],
    ['a flag as a word', post({ ...chat, stream: 'true' }), 422, 'invalid_request', 'stream'],
    [
      'a field that is not served',
      post({ ...chat, audio: {} }),
      422,
      'unsupported_parameter',
      'audio',
    ],
    [
      'a field __proto__',
      post(`{"__proto__":{},"model":"m"}`),
      422,
      'invalid_request',
      '__proto__',
    ],
    ['deep nesting', post(`${'['.repeat(500_000)}`), 422, 'invalid_request', null],
    [
      'a model of a higher tier',
      post({ ...chat, model: 'model-e:70b' }),
      422,
      'invalid_model',
      'model',
    ],
    ['a model that is not there', post({ ...chat, model: 'gpt' }), 404, 'model_not_found', null],
    [
      'an embedding model',
      post({ ...chat, model: 'embed-a' }, bearer('pro-key')),
      422,
      'invalid_model',
      'model',
    ],
    ['no cell', post(chat), 503, 'cell_unavailable', null],
  ] as const)
    t.test(`${title} is ${status} ${code}`, async t => {
      const response = await app.inject(request as InjectOptions)
      t.equal(response.statusCode, status)
      const { error } = response.json()
      const { reason: _reason, next: _next, ...always } = error
      t.strictSame(Object.keys(always).sort(), ['code', 'message', 'param', 'type'])
      t.equal(error.code, code)
      t.equal(error.param, param)
      t.match(response.headers, {
        'x-ratelimit-limit': '1000',
        'x-ratelimit-remaining': '990',
        'x-ratelimit-reset': '1900000000',
        'x-ratelimit-burst': '7',
        'x-request-id': /^req_/,
        'x-shoal-version': /^\d/,
        'content-type': 'application/json; charset=utf-8',
      })
    })

  t.test('an answer names its coordinator only beside others', async t => {
    const self = { id: 'rep_1', name: 'a', address: undefined, version: '1', startedAt: 0 }
    const live = [self]
    const several = await appWith({ replicas: { id: self.id, live: () => live } })
    t.teardown(() => several.close())
    const named = async () => (await several.inject('/v1/models')).headers['x-shoal-replica']
    t.equal(await named(), undefined)
    live.push({ ...self, id: 'rep_2' })
    t.equal(await named(), 'rep_1')
  })

  t.test('a body over the limit is 413', async t => {
    const small = await appWith({ config: config({ http: { body_limit_bytes: 1024 } }) })
    t.teardown(() => small.close())
    const response = await small.inject(post({ ...chat, system: 'x'.repeat(2000) }))
    t.equal(response.statusCode, 413)
    t.equal(response.json().error.code, 'payload_too_large')
  })

  t.test('the body of every route may be packed, within its limit for unpacked bytes', async t => {
    const send = (url: string, body: Buffer) => {
      const headers = {
        ...bearer('pro-key'),
        'content-type': 'application/json',
        'content-encoding': 'gzip',
      }
      return app.inject({ method: 'POST', url, headers, payload: body })
    }
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const lists = await send('/mcp/', gzipSync(JSON.stringify(call)))
    t.equal(lists.statusCode, 200)
    const skill = '/v1/skills/evm_calc'
    const input = JSON.stringify({ bac: 1, pv: 1, ev: 1, ac: 1 })
    t.equal((await send(skill, gzipSync(input))).statusCode, 200)
    const bomb = gzipSync(Buffer.alloc(16 * 1024 * 1024, ' '))
    for (const url of ['/mcp/', skill]) t.equal((await send(url, bomb)).statusCode, 413, url)
    t.equal((await send(skill, Buffer.from(input))).json().error.code, 'invalid_request')
  })

  t.test('a 503 states when to retry, a 405 the allowed methods, a 401 the scheme', async t => {
    t.equal((await app.inject(post(chat))).headers['retry-after'], '30')
    const wrong = await app.inject({ method: 'PUT', url: '/v1/chat/completions' })
    t.equal(wrong.headers.allow, 'POST')
    t.match((await app.inject(post(chat, {}))).headers['www-authenticate'], /^Bearer/)
  })
})

t.test('an internal error is 500 and reveals nothing', async t => {
  const app = await appWith({
    quota: {
      standing: () => ({ limit: 1, remaining: 1, resetSeconds: 1, burst: 1, minuteLimit: 1 }),
      admit: () => {
        throw new Error('secret path /var/lib/x')
      },
    },
  })
  t.teardown(() => app.close())
  const response = await app.inject(post(chat))
  t.equal(response.statusCode, 500)
  t.notMatch(response.body, /secret/)
})

t.test('the quota is checked before any cell is asked', async t => {
  let picked = 0
  let refunds = 0
  const fleet = {
    pick: () => {
      picked++
      return undefined
    },
    cells: () => [],
    serves: () => false,
    roundTripsMs: () => [],
  }
  const standing = () => ({
    limit: 'unlimited' as const,
    remaining: 'unlimited' as const,
    resetSeconds: 1_900_000_000,
    burst: 3,
    minuteLimit: 500,
  })
  for (const [code, status, retryAfter] of [
    ['tier_exceeded', 403, undefined],
    ['rate_limited', 429, 17],
  ] as const)
    t.test(`${code} is ${status}`, async t => {
      const options = retryAfter === undefined ? {} : { retryAfterSeconds: retryAfter }
      const admit = () => {
        throw new ShoalError(code, 'no more', options)
      }
      const app = await appWith({ fleet, quota: { standing, admit } })
      t.teardown(() => app.close())
      const response = await app.inject(post(chat))
      t.equal(response.statusCode, status)
      t.equal(response.headers['retry-after'], retryAfter && String(retryAfter))
      t.equal(response.headers['x-ratelimit-limit'], 'unlimited')
      t.equal(response.headers.ratelimit, '"minute";r=3')
      t.equal(picked, 0)
    })

  t.test('a request that no cell accepts is refunded once and leaves no usage row', async t => {
    const rows: unknown[] = []
    const app = await appWith({
      fleet,
      quota: { standing, admit: () => ({ refund: () => void refunds++ }) },
      usage: { record: async row => void rows.push(row) },
    })
    t.teardown(() => app.close())
    t.equal((await app.inject(post(chat))).statusCode, 503)
    t.equal(refunds, 1)
    t.strictSame(rows, [])
  })
})

t.test('models', async t => {
  const app = await appWith()
  t.teardown(() => app.close())
  const list = async (key: string): Promise<string[]> =>
    (await app.inject({ url: '/v1/models', headers: bearer(key) }))
      .json()
      .data.map((model: { id: string }) => model.id)

  t.test('a tier sees its own models and those below it', async t => {
    t.strictSame(await list('free-key'), ['model-a:7b'])
    t.strictSame(await list('pro-key'), [
      'model-a:7b',
      'model-b:3b',
      'model-c:7b',
      'model-d:9b',
      'embed-a',
      'embed-b:8b',
    ])
    t.equal((await list('enterprise-key')).length, 8)
  })

  for (const url of ['/v1/models/model-a:7b', '/v1/models/model-a%3A7b'])
    t.test(`${url} discloses answers of demonstration weights`, async t => {
      const response = await app.inject({ url, headers: bearer('free-key') })
      t.match(response.json(), { id: 'model-a:7b', object: 'model', weights: 'bundled-demo' })
      t.equal(response.json().created, 1_800_000_000)
    })

  t.test('a model of a higher tier is 404 like an unknown one', async t => {
    for (const id of ['model-f:72b', 'nothing']) {
      const response = await app.inject({ url: `/v1/models/${id}`, headers: bearer('free-key') })
      t.equal(response.statusCode, 404)
      t.equal(response.json().error.code, 'model_not_found')
    }
  })
})

t.test('health needs no key and is always 200', async t => {
  const app = await appWith()
  t.teardown(() => app.close())
  const response = await app.inject({ url: '/v1/health' })
  t.equal(response.statusCode, 200)
  t.strictSame(response.json(), { status: 'unavailable', cells: 0, models: 0, latency_ms: 0 })
  t.equal((await app.inject({ url: '/healthz' })).statusCode, 200)
  t.equal((await app.inject({ url: '/readyz' })).statusCode, 200)
})

t.test('a balancer may check readiness and liveness with any Host and with none', async t => {
  const app = await appWith()
  t.teardown(() => app.close())
  await app.listen({ port: 0, host: '127.0.0.1' })
  const address = app.server.address() as AddressInfo
  const ask = (request: string) => rawRequest(address, `${request}\r\nConnection: close\r\n\r\n`)
  for (const path of ['/readyz', '/healthz'])
    for (const request of [
      `GET ${path} HTTP/1.0`,
      `GET ${path} HTTP/1.1\r\nHost: coordinator-1`,
      `HEAD ${path} HTTP/1.1\r\nHost: 10.1.0.11:7070`,
    ])
      t.match(await ask(request), /^HTTP\/1\.1 200 /, request)
  t.match(await ask('GET /v1/health HTTP/1.0'), /^HTTP\/1\.1 421 /)
})

t.test('readiness states in its code what is missing', async t => {
  const fine = {
    isLeaving: () => false,
    brokerConnected: () => true,
    storeProblem: () => undefined,
    lacksCells: () => false,
  }
  for (const [wrong, code, message] of [
    [{ isLeaving: () => true }, 'draining', /stopping/],
    [{ brokerConnected: () => false }, 'broker_unavailable', /broker is unreachable/],
    [{ storeProblem: () => 'the disk is full' }, 'store_unavailable', /^the disk is full$/],
    [{ lacksCells: () => true }, 'cell_unavailable', /another one has cells/],
  ] as const) {
    const app = await appWith({
      findReadinessFault: () => findReadinessFault({ ...fine, ...wrong }),
    })
    t.teardown(() => app.close())
    const response = await app.inject({ url: '/readyz' })
    t.equal(response.statusCode, 503)
    t.match(response.json().error, { code, message })
    t.equal(response.headers['retry-after'], '5')
  }
  t.equal(findReadinessFault(fine), undefined)
})

t.test('a request id of the client is kept when it is harmless', async t => {
  const app = await appWith()
  t.teardown(() => app.close())
  for (const [sent, kept] of [
    ['abc-1', true],
    ['a b', false],
    ['x'.repeat(200), false],
  ] as const) {
    const response = await app.inject({ url: '/healthz', headers: { 'x-request-id': sent } })
    t.equal(response.headers['x-request-id'] === sent, kept, sent.slice(0, 10))
  }
})

t.test('raw bytes on the socket', async t => {
  const app = await appWith({
    config: config({
      http: { headers_timeout_seconds: 0.2, request_timeout_seconds: 0.4 },
    }),
  })
  t.teardown(() => app.close())
  await app.listen({ port: 0, host: '127.0.0.1' })
  const address = app.server.address() as AddressInfo
  const head = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n'
  for (const [title, text, status] of [
    ['a plain request is served', `${head}Connection: close\r\n\r\n`, 200],
    ['two Host headers are refused', `${head}Host: localhost\r\nConnection: close\r\n\r\n`, 422],
    [
      'two Authorization headers are refused',
      `${head}Authorization: Bearer a\r\nAuthorization: Bearer b\r\nConnection: close\r\n\r\n`,
      422,
    ],
    ['no Host is refused', 'GET /v1/health HTTP/1.1\r\nConnection: close\r\n\r\n', 421],
    [
      'length and chunks together are refused',
      `POST /v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc`,
      400,
    ],
    ['rubbish is refused', 'hello\r\n\r\n', 400],
    [
      'a URL that cannot be decoded is refused',
      'GET /v1/%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      422,
    ],
    [
      'an upgrade that is not ours is ignored',
      `${head}Connection: Upgrade, close\r\nUpgrade: h2c\r\n\r\n`,
      200,
    ],
    ['headers of 20 KiB are refused', `${head}x: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
    [
      'a Host that only looks like loopback is refused',
      'GET /v1/health HTTP/1.1\r\nHost: 127.999.999.999\r\nConnection: close\r\n\r\n',
      421,
    ],
    [
      'a target with a foreign host is refused, whatever Host says',
      'GET http://evil.example/v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      421,
    ],
    [
      'a target with an allowed host is served',
      'GET http://localhost:7070/v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      200,
    ],
    [
      'HTTP/2.0 in the words of HTTP/1.1 is refused',
      'GET /v1/health HTTP/2.0\r\nHost: localhost\r\nConnection: close\r\n\r\n',
      505,
    ],
    [
      'a refused body is not asked for with 100 Continue',
      'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 10\r\nConnection: close\r\n\r\n',
      401,
    ],
    [
      'a body over the limit is not asked for with 100 Continue',
      'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer free-key\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 100000000\r\nConnection: close\r\n\r\n',
      413,
    ],
  ] as const)
    t.test(title, async t => {
      const answer = await rawRequest(address, text)
      t.match(answer, new RegExp(`^HTTP/1.1 ${status} `))
      t.match(answer, /x-ratelimit-limit: 1000\r\n/)
      t.match(answer, /x-request-id: req_/)
      if (status !== 200) t.match(answer, /\{"error":\{"message":".*"code":"[a-z_]+"\}\}$/)
    })

  t.test('a body that is wanted is asked for with 100 Continue', async t => {
    const socket = connect(address.port, address.address)
    socket.setEncoding('utf8')
    socket.write(
      'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer free-key\r\n' +
        'Content-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 2\r\nConnection: close\r\n\r\n',
    )
    const [first] = await once(socket, 'data')
    t.equal(first, 'HTTP/1.1 100 Continue\r\n\r\n')
    socket.write('{}')
    const [second] = await once(socket, 'data')
    t.match(second, /^HTTP\/1.1 422 /)
    socket.destroy()
  })

  t.test('a client that never ends its headers is disconnected with 408', async t => {
    const answer = await rawRequest(address, head)
    t.match(answer, /^HTTP\/1.1 408 /)
    t.match(answer, /headers were not complete within 0.2 s \(http.headers_timeout_seconds\)/)
  })
})

t.test('the depth of JSON is counted without parsing', async t => {
  for (const [text, depth] of [
    ['1', 0],
    ['{}', 1],
    ['{"a":[{"b":1}]}', 3],
    ['"[[[["', 0],
    ['["\\"[[["]', 1],
    ['["\\\\",[1]]', 2],
    ['"open [[', 0],
  ] as const)
    t.equal(jsonShape(Buffer.from(text)).depth, depth, text)

  t.test('the counted depth agrees with the parsed value for any JSON', async t => {
    const depthOf = (value: unknown): number =>
      typeof value === 'object' && value !== null
        ? 1 + Math.max(0, ...Object.values(value).map(depthOf))
        : 0
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), value => {
        const bytes = Buffer.from(JSON.stringify(value))
        return jsonShape(bytes).depth === depthOf(value)
      }),
    )
    t.strictSame(parseJsonBody(Buffer.alloc(0)), {})
  })
})

t.test('an error about a body quotes no part of it', async t => {
  for (const [body, reason] of [
    ['{"model":secret}', 'it has an unexpected character'],
    ['{"model":', 'it ends too early'],
    [`{"model":"${'a'.repeat(99)}"!}`, 'at position 110'],
  ] as const)
    t.throws(() => parseJsonBody(Buffer.from(body)), {
      message: `the body is not valid JSON: ${reason}`,
    })
})

t.test('an address without a key is counted by its network', async t => {
  for (const [address, network] of [
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['2001:db8:1:2::', '2001:db8:1:2'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['::1', '0:0:0:0'],
    [undefined, ''],
  ] as const)
    t.equal(networkOf(address), network, String(address))
})

t.test('a path with an overlong segment is refused with its own error', async t => {
  const app = await appWith()
  t.teardown(() => app.close())
  const long = 'x'.repeat(2000)
  for (const url of [`/v1/cells/${long}`, `/v1/skills/${long}`, `/v1/gates/${long}/definition`]) {
    const { statusCode, body } = await app.inject({
      url,
      headers: { authorization: 'Bearer admin-key' },
    })
    t.equal(statusCode, 422, url.slice(0, 20))
    t.match(JSON.parse(body).error, { code: 'invalid_request', message: /too long/ })
  }
})
