import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { Budgets } from '../../../../coordinator/kernel/budgets/budgets.ts'
import { acceptUpgrades } from '../../../../coordinator/surfaces/http/upgrades.ts'
import { createCoordinatorMetrics } from '../../../../coordinator/surfaces/metrics/coordinator-metrics.ts'
import { closeWithLinger } from '../../../../shared/lingering-close.ts'
import { ENROL_PATH, LINK_PATH, LINK_PROTOCOL } from '../../../../shared/wire/link.ts'
import { appWith, config, standing, statusAfterWriting } from '../../../support/app.ts'
import { silent } from '../../../support/cell.ts'
import { waitUntil } from '../../../support/wait-until.ts'

const LIMIT_BYTES = 4096
const PATH = '/v1/chat/completions'
const VALID = JSON.stringify({ model: 'model-a:7b', messages: [{ role: 'user', content: 'hi' }] })

/** A request whose answer is held to a schema of objects within objects. */
const schemaOf = (depth: number): Sent => {
  let schema: object = { type: 'null' }
  for (let level = 0; level < depth; level++)
    schema = { type: 'object', properties: { a: schema }, required: ['a'] }
  const format = { type: 'json_schema', json_schema: { name: 'deep', schema } }
  return { pieces: [JSON.stringify({ ...JSON.parse(VALID), response_format: format })] }
}

interface Answer {
  status: number | undefined
  headers: IncomingHttpHeaders
  code: string | undefined
}

interface Sent {
  method?: string
  path?: string
  headers?: Record<string, string>
  pieces?: readonly (string | Buffer)[]
}

const packed = (coding: string, body: string | Buffer): Sent => ({
  headers: { 'content-encoding': coding },
  pieces: [body],
})
/** 64 MiB of blanks in a few hundred bytes. */
const BOMB = brotliCompressSync(Buffer.alloc(64 * 1024 * 1024, ' '), {
  params: { [constants.BROTLI_PARAM_QUALITY]: 1 },
})

/** A listening front with no cell, and a client that sends its body in pieces, without a length. */
const rig = async (t: Test): Promise<(sent?: Sent) => Promise<Answer>> => {
  const app = await appWith({ config: config({ http: { body_limit_bytes: LIMIT_BYTES } }) })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const { port } = app.server.address() as AddressInfo
  return async ({ method = 'POST', path = PATH, headers = {}, pieces = [VALID] } = {}) => {
    const asked = request({
      host: '127.0.0.1',
      port,
      method,
      path,
      headers: {
        authorization: 'Bearer free-key',
        'content-type': 'application/json',
        'x-request-id': 'mine',
        ...headers,
      },
    })
    asked.on('error', () => {})
    for (const piece of pieces) asked.write(piece)
    asked.end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    let body = ''
    for await (const piece of answer) body += piece
    return {
      status: answer.statusCode,
      headers: answer.headers,
      code: JSON.parse(body).error?.code,
    }
  }
}

t.test('an inference request is refused in front of Fastify as behind it', async t => {
  const send = await rig(t)
  const big = 'x'.repeat(LIMIT_BYTES)
  const cases: [string, Sent, number, string][] = [
    ['without a key', { headers: { authorization: '' } }, 401, 'auth_required'],
    ['with a wrong key', { headers: { authorization: 'Bearer no' } }, 401, 'auth_required'],
    ['for a foreign host', { headers: { host: 'elsewhere' } }, 421, 'host_not_allowed'],
    ['for a foreign tenant', { headers: { 'x-svc-tenant': 'no' } }, 403, 'tenant_forbidden'],
    [
      'that is no JSON',
      { headers: { 'content-type': 'text/plain' } },
      415,
      'unsupported_media_type',
    ],
    [
      'in another charset',
      { headers: { 'content-type': 'application/json; charset=iso-8859-1' } },
      415,
      'unsupported_media_type',
    ],
    [
      'in UTF-8 by name, that no cell can serve',
      { headers: { 'content-type': 'application/json;a=b; charset="UTF-8"' } },
      503,
      'cell_unavailable',
    ],
    ['that is broken JSON', { pieces: ['{"mod', 'el":'] }, 422, 'invalid_request'],
    ['that is too large', { pieces: [VALID, big] }, 413, 'payload_too_large'],
    [
      'that says it is too large',
      { headers: { 'content-length': '9999' }, pieces: [big] },
      413,
      'payload_too_large',
    ],
    [
      'for another model',
      { pieces: [VALID.replace('model-a:7b', 'none')] },
      404,
      'model_not_found',
    ],
    ['that no cell can serve', {}, 503, 'cell_unavailable'],
    ['with a schema 32 deep, that no cell can serve', schemaOf(32), 503, 'cell_unavailable'],
    ['with a schema of any depth', schemaOf(40), 422, 'invalid_request'],
    ['packed with gzip', packed('gzip', gzipSync(VALID)), 503, 'cell_unavailable'],
    ['packed with br', packed('BR', brotliCompressSync(VALID)), 503, 'cell_unavailable'],
    ['packed with deflate', packed('deflate', deflateSync(VALID)), 503, 'cell_unavailable'],
    ['that is named identity', packed('identity', VALID), 503, 'cell_unavailable'],
    ['that unpacks to too much', packed('gzip', gzipSync(big + big)), 413, 'payload_too_large'],
    ['that is a bomb', packed('br', BOMB), 413, 'payload_too_large'],
    ['that is not of its coding', packed('gzip', VALID), 422, 'invalid_request'],
    [
      'whose coding is cut',
      packed('gzip', gzipSync(VALID).subarray(0, 40)),
      422,
      'invalid_request',
    ],
    ['in an unknown coding', packed('zstd', VALID), 415, 'unsupported_media_type'],
    ['in two codings', packed('gzip, br', VALID), 415, 'unsupported_media_type'],
    ['by another method', { method: 'PUT' }, 405, 'method_not_allowed'],
  ]
  for (const [title, sent, status, code] of cases)
    t.test(title, async t => {
      const front = await send(sent)
      const behind = await send({ ...sent, path: `${PATH}?odd` })
      for (const answer of [front, behind]) {
        t.equal(answer.status, status)
        t.equal(answer.code, code)
        t.equal(answer.headers['x-request-id'], 'mine')
        for (const name of ['limit', 'remaining', 'reset', 'burst'])
          t.ok(answer.headers[`x-ratelimit-${name}`], name)
        t.equal(answer.headers['x-content-type-options'], 'nosniff')
        t.match(answer.headers['content-type'], /^application\/json/)
      }
      const names = ({ headers }: Answer) => Object.keys(headers).sort()
      t.strictSame(names(front), names(behind), 'the same headers on both ways')
    })
})

t.test('a client that reads nothing before its body is sent still gets the refusal', async t => {
  const app = await appWith({ config: config({ http: { body_limit_bytes: LIMIT_BYTES } }) })
  const isLeaving = () => true
  acceptUpgrades(app.server, { isLeaving, logger: silent } as never)
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const statusOf = async (path: string, ...more: string[]): Promise<string> => {
    const head = [`POST ${path} HTTP/1.1`, 'host: localhost', 'authorization: Bearer free-key']
    const line = await statusAfterWriting(connect(port), [
      ...head,
      'content-type: application/json',
      ...more,
    ])
    return `${path}: ${line.split(' ')[1]}`
  }
  t.strictSame(
    [
      await statusOf(PATH),
      await statusOf(`${PATH}?odd`),
      await statusOf('/v1/skills/vram-guard'),
      await statusOf('/mcp'),
      await statusOf(ENROL_PATH),
      await statusOf('/v1/models', `x-long: ${'x'.repeat(20_000)}`),
      await statusOf(LINK_PATH, 'connection: upgrade', `upgrade: ${LINK_PROTOCOL}`),
    ],
    [
      `${PATH}: 413`,
      `${PATH}?odd: 413`,
      '/v1/skills/vram-guard: 413',
      '/mcp: 413',
      `${ENROL_PATH}: 413`,
      '/v1/models: 431',
      `${LINK_PATH}: 503`,
    ],
  )
})

t.test('a closed connection takes no more requests and a bounded rest', async t => {
  const server = createServer((request, response) => {
    asked.push(request.url)
    response.writeHead(413, { connection: 'close' }).end()
  })
  const asked: unknown[] = []
  closeWithLinger(server)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const socket = connect(port, '127.0.0.1')
  socket.write('POST /1 HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nfirst')
  await once(socket, 'data')
  socket.end('rest\r\nPOST /2 HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n')
  await once(socket, 'close')
  t.strictSame(asked, ['/1'])
  const endless = statusAfterWriting(
    connect(port),
    ['POST /3 HTTP/1.1', 'host: a'],
    64 * 1024 * 1024,
  )
  await t.rejects(endless, { code: /EPIPE|ECONNRESET/ })
})

t.test('a body that is not read to its end closes the connection', async t => {
  const send = await rig(t)
  const tooLarge = await send({ pieces: [VALID, 'x'.repeat(LIMIT_BYTES)] })
  t.equal(tooLarge.headers.connection, 'close')
  const wrong = await send({ pieces: ['{'] })
  t.equal(wrong.headers.connection, 'keep-alive')
})

t.test('a client that leaves while sending is not an internal failure', async t => {
  const metrics = createCoordinatorMetrics()
  const told = new Promise<string>(resolve => {
    metrics.http.countError = resolve
  })
  const app = await appWith({ metrics })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const headers = { authorization: 'Bearer free-key', 'content-type': 'application/json' }
  const asked = request({ host: '127.0.0.1', port, method: 'POST', path: PATH, headers })
  asked.on('error', () => {})
  app.server.once('request', () => asked.destroy())
  asked.write('{"model":')
  t.equal(await told, 'client_closed')
})

t.test('bodies of one key keep within its share until they are answered', async t => {
  const budgets = new Budgets(config({ limits: { body_bytes: 1024 * 1024 } }).limits)
  const admit = Promise.withResolvers<{ refund: () => void }>()
  const app = await appWith({
    budgets,
    quota: { standing: () => standing, admit: () => admit.promise },
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const body = VALID.replace('hi', 'x'.repeat(100 * 1024))
  const post = async (key: string) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const asked = request({ host: '127.0.0.1', port, method: 'POST', path: PATH, headers })
    asked.end(body)
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    answer.resume()
    return answer
  }
  const answers = [post('free-key'), post('free-key')]
  await waitUntil('two bodies are kept', () => budgets.requestBodies.used === 2 * body.length)
  const refused = await post('free-key')
  t.match(refused, { statusCode: 429, headers: { 'retry-after': '1' } })
  answers.push(post('pro-key'))
  await waitUntil(
    'another key has room',
    () => budgets.requestBodies.readUse('key', 'key-pro') === body.length,
  )
  admit.resolve({ refund: () => {} })
  await Promise.all(answers)
  await waitUntil('all bodies are released', () => budgets.requestBodies.used === 0)
})

t.test('the body of a request without a key counts for its address', async t => {
  const budgets = new Budgets(config({ limits: { body_bytes: 1024 * 1024 } }).limits)
  const app = await appWith({ budgets })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const open = () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.write(
      'POST /v1/keys/requests HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 200000\r\n\r\n{',
    )
    t.teardown(() => socket.destroy())
    return socket
  }
  const first = open()
  await waitUntil('it is counted', () => budgets.requestBodies.used === 200_000)
  t.match(String((await once(open(), 'data'))[0]), /^HTTP\/1.1 429 /)
  first.destroy()
  await waitUntil('it is given back', () => budgets.requestBodies.used === 0)
})

t.test('a body that gives way to a smaller key is refused and grows no more', async t => {
  const budgets = new Budgets(config({ limits: { body_bytes: 1024 * 1024 } }).limits)
  const budget = budgets.requestBodies
  const metrics = createCoordinatorMetrics()
  const codes: string[] = []
  metrics.http.countError = code => void codes.push(code)
  const admit = Promise.withResolvers<{ refund: () => void }>()
  const quota = { standing: () => standing, admit: () => admit.promise }
  const app = await appWith({ budgets, metrics, quota })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const { port } = app.server.address() as AddressInfo
  const body = VALID.replace('hi', 'x'.repeat(200 * 1024))
  const send = (key: string, length: number) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.write(
      `POST ${PATH} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`,
    )
    t.teardown(() => socket.destroy())
    return socket
  }
  for (const [title, length] of [
    ['incomplete', body.length + 50_000],
    ['whole', body.length],
  ] as const) {
    const victim = send('free-key', length)
    let answer = ''
    victim.on('data', piece => {
      answer += piece
    })
    const isClosed = once(victim, 'close')
    await waitUntil(`a body that is ${title} is kept`, () => budget.used === body.length)
    const others = budget.open({})
    others.force(budget.limits.total - budget.used)
    const small = budget.open({ key: 'small' })
    t.ok(small.take(1000))
    await waitUntil('the victim is answered', () => answer.includes('\r\n\r\n'))
    victim.write('x'.repeat(1000))
    await isClosed
    t.match(answer, /^HTTP\/1.1 429 /)
    for (const header of ['retry-after: 1', 'x-request-id: ', 'x-ratelimit-limit: '])
      t.match(answer, header)
    t.match(answer, 'bodies of all keys')
    t.equal(codes.pop(), 'rate_limited')
    others.close()
    small.close()
    t.equal(budget.used, 0, `nothing is held of a body that was ${title}`)
  }
  admit.resolve({ refund: () => {} })
})
