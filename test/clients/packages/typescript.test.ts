import type { ServerResponse } from 'node:http'
import t from 'tap'
import { GateCheck, GateNotApproved, ShoalClient } from '../../../clients/typescript/src/index.ts'
import { parseRetryAfter } from '../../../clients/typescript/src/retry.ts'
import { createErrorBody, events, json, startAnswerServer } from './answers.ts'

const clientOf = (baseUrl: string, pauses: number[] = []) =>
  new ShoalClient({
    baseUrl,
    apiKey: 'k',
    tenant: 'home',
    sleep: async ms => void pauses.push(ms),
  })

const chunk = (content: string) =>
  `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`

const collect = async (client: ShoalClient): Promise<string> => {
  let text = ''
  const messages = [{ role: 'user' as const, content: 'x' }]
  for await (const { choices } of client.streamChat({ model: 'm', messages }))
    text += choices[0]?.delta.content ?? ''
  return text
}

t.test(
  'a call carries the key, the tenant and, when it changes something, one key for all its attempts',
  async t => {
    const { url, seen } = await startAnswerServer(
      t,
      json(503, createErrorBody('draining')),
      json(200, { ok: true }),
    )
    t.same(await clientOf(url).call('POST', '/v1/x', { body: { a: 1 } }), { ok: true })
    t.equal(seen.length, 2)
    t.equal(seen[0]?.headers.authorization, 'Bearer k')
    t.equal(seen[0]?.headers['x-svc-tenant'], 'home')
    t.match(seen[0]?.headers['idempotency-key'], /^[\w-]{36}$/)
    t.equal(seen[1]?.headers['idempotency-key'], seen[0]?.headers['idempotency-key'])
    await clientOf(url).call('GET', '/v1/y', { query: { a: 1, b: undefined } })
    t.equal(seen[2]?.url, '/v1/y?a=1')
    t.equal(seen[2]?.headers['idempotency-key'], undefined)
  },
)

t.test('a call is tried three times with growing pauses', async t => {
  const pauses: number[] = []
  const { url, seen } = await startAnswerServer(t, json(429, createErrorBody('rate_limited')))
  await t.rejects(clientOf(url, pauses).call('GET', '/'), { code: 'rate_limited', status: 429 })
  t.equal(seen.length, 3)
  t.ok(pauses[0] !== undefined && pauses[0] >= 2000 && pauses[0] <= 3000)
  t.ok(pauses[1] !== undefined && pauses[1] >= 4000 && pauses[1] <= 5000)
})

t.test('Retry-After is respected unless it is too long', async t => {
  const pauses: number[] = []
  const soon = json(429, createErrorBody('rate_limited'), { 'retry-after': '7' })
  const { url } = await startAnswerServer(t, soon, json(200, {}))
  await clientOf(url, pauses).call('GET', '/')
  t.ok(pauses[0] !== undefined && pauses[0] >= 7000 && pauses[0] <= 8000)
  const late = await startAnswerServer(
    t,
    json(503, createErrorBody('draining'), { 'retry-after': '3600' }),
  )
  await t.rejects(clientOf(late.url).call('GET', '/'), { code: 'draining' })
  t.equal(late.seen.length, 1)
})

t.test('a permanent error is not retried', async t => {
  for (const status of [400, 401, 403, 404, 422, 500]) {
    const { url, seen } = await startAnswerServer(t, json(status, createErrorBody('x', 'words')))
    await t.rejects(clientOf(url).call('POST', '/'), { message: 'words', status })
    t.equal(seen.length, 1)
  }
})

t.test('a completion that may have been generated is not requested again', async t => {
  const { url, seen } = await startAnswerServer(t, response => void response.destroy())
  const messages = [{ role: 'user' as const, content: 'x' }]
  await t.rejects(clientOf(url).chat({ model: 'm', messages }), { code: 'coordinator_unavailable' })
  t.equal(seen.length, 1)
})

t.test('a redirect does not receive the key', async t => {
  const { url, seen } = await startAnswerServer(
    t,
    response => void response.writeHead(302, { location: '/elsewhere' }).end(),
  )
  const messages = [{ role: 'user' as const, content: 'x' }]
  await t.rejects(clientOf(url).chat({ model: 'm', messages }), { status: 302, message: /302/ })
  await t.rejects(clientOf(url).call('GET', '/v1/x'), { status: 302, message: /302/ })
  t.equal(seen.length, 2)
})

t.test('a route without Idempotency-Key is not retried when its answer is lost', async t => {
  const { url, seen } = await startAnswerServer(t, response => void response.destroy())
  const refused = { code: 'coordinator_unavailable' }
  for (const path of ['/v1/embeddings', '/v1/chat/completions', '/v1/responses', '/mcp/', '/a2a'])
    await t.rejects(clientOf(url).call('POST', path, { body: {} }), refused, path)
  t.equal(seen.length, 5)
  await t.rejects(clientOf(url).call('POST', '/v1/skills/x', { body: {} }), refused)
  await t.rejects(clientOf(url).call('GET', '/v1/responses/resp_1'), refused)
  t.equal(seen.length, 5 + 3 + 3)
})

t.test('a truncated answer is requested again', async t => {
  const cut = (response: ServerResponse): void => {
    response.writeHead(200, { 'content-length': '100' }).write('{"a":')
    setImmediate(() => response.destroy())
  }
  const { url, seen } = await startAnswerServer(t, cut, json(200, { a: 1 }))
  t.same(await clientOf(url).call('POST', '/v1/x'), { a: 1 })
  t.equal(seen[0]?.headers['idempotency-key'], seen[1]?.headers['idempotency-key'])
  const lost = await startAnswerServer(t, cut)
  await t.rejects(clientOf(lost.url).call('GET', '/'), {
    code: 'coordinator_unavailable',
    status: 0,
    message: 'the answer was cut off',
  })
})

t.test('an answer without a body is undefined, and one that is not JSON is an error', async t => {
  const { url } = await startAnswerServer(
    t,
    response => void response.writeHead(204).end(),
    response => void response.end('<html>'),
  )
  t.equal(await clientOf(url).call('DELETE', '/a2a/x'), undefined)
  await t.rejects(clientOf(url).call('GET', '/'), { code: 'internal', status: 200 })
})

t.test('a stalled answer times out before and after it has begun', async t => {
  const headOf = (response: ServerResponse) => response.writeHead(200).write('{"a":')
  for (const still of [() => {}, headOf]) {
    const { url } = await startAnswerServer(t, still)
    const client = new ShoalClient({ baseUrl: url, apiKey: 'k', timeoutMs: 1 })
    await t.rejects(client.chat({ model: 'm', messages: [] }), { code: 'coordinator_unavailable' })
  }
  const { url } = await startAnswerServer(t, json(200, {}))
  const patient = new ShoalClient({ baseUrl: url, apiKey: 'k', timeoutMs: Infinity })
  t.same(await patient.call('GET', '/'), {}, 'no limit is none')
})

t.test('an aborted call rejects at once with the reason of its signal', async t => {
  const { url, seen } = await startAnswerServer(
    t,
    json(503, createErrorBody('draining'), { 'retry-after': '50' }),
  )
  const client = new ShoalClient({ baseUrl: url, apiKey: 'k' })
  const left = new AbortController()
  const reason = new Error('enough')
  const call = client.call('GET', '/', { signal: left.signal })
  while (seen.length === 0) await new Promise(setImmediate)
  left.abort(reason)
  t.equal(await call.catch((thrown: unknown) => thrown), reason)
  await t.rejects(client.call('GET', '/', { signal: AbortSignal.abort(reason) }), reason)
  t.equal(seen.length, 1)
})

t.test('Retry-After may be seconds or a date; other values are ignored', async t => {
  const now = Date.UTC(2026, 10, 20, 12, 0, 0)
  for (const [text, seconds] of [
    ['7', 7],
    ['Fri, 20 Nov 2026 12:00:30 GMT', 30],
    ['Fri, 20 Nov 2026 11:00:00 GMT', 0],
    ['-5', undefined],
    ['7.5', undefined],
    ['soon', undefined],
    ['', undefined],
    [null, undefined],
  ] as const)
    t.equal(parseRetryAfter(text, now), seconds, String(text))
})

t.test('invalid keys, addresses and paths are refused without showing the key', async t => {
  const options = { baseUrl: 'http://h', apiKey: 'k' }
  for (const wrong of [
    { apiKey: 'secret\n' },
    { apiKey: '' },
    { tenant: 'a b' },
    { baseUrl: 'ftp://h' },
    { baseUrl: 'http://' },
    { baseUrl: 'http://user:pass@h' },
  ])
    t.throws(
      () => new ShoalClient({ ...options, ...wrong }),
      { name: 'TypeError', message: /^(?!.*secret)/s },
      JSON.stringify(wrong),
    )
  const client = new ShoalClient({
    ...options,
    fetch: async () => t.fail('it was sent') as never,
  })
  await t.rejects(client.call('GET', '@elsewhere.example/'), TypeError)
  await t.rejects(new GateCheck(client).check('..'), TypeError)
})

t.test('a stream is complete with its [DONE], however it was split', async t => {
  const whole = `${chunk('one ')}: keep-alive\n\n${chunk('twö')}data: [DONE]\n\n`
  const bytes = Buffer.from(whole).toString('latin1')
  const { url } = await startAnswerServer(t, response => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const character of bytes) response.write(Buffer.from(character, 'latin1'))
    response.end()
  })
  t.equal(await collect(clientOf(url)), 'one twö')
})

t.test('a stream that fails or ends too early throws', async t => {
  const failed = `data: ${JSON.stringify(createErrorBody('cell_unavailable', 'gone'))}\n\n`
  const one = await startAnswerServer(t, events([chunk('a'), failed]))
  await t.rejects(collect(clientOf(one.url)), { code: 'cell_unavailable', message: 'gone' })
  const two = await startAnswerServer(t, events([chunk('a')]))
  await t.rejects(collect(clientOf(two.url)), /ended too early/)
  const three = await startAnswerServer(t, events([chunk('a')], false))
  await t.rejects(collect(clientOf(three.url)), { code: 'coordinator_unavailable' })
  const four = await startAnswerServer(t, events([chunk('a'), 'data: {"cho\n\n']))
  await t.rejects(collect(clientOf(four.url)), { code: 'internal', message: /not JSON/ })
})

t.test('a gate that is not approved makes the caller fail', async t => {
  const status = (status: string) => json(200, { gate_id: 'g', status, reason: null })
  const { url } = await startAnswerServer(
    t,
    status('pending'),
    status('blocked'),
    status('approved'),
  )
  const gates = new GateCheck(clientOf(url))
  for (const gateStatus of ['pending', 'blocked']) {
    const error = await gates.require('gate.x').catch((thrown: unknown) => thrown)
    t.ok(error instanceof GateNotApproved)
    t.equal((error as GateNotApproved).gateStatus, gateStatus)
  }
  t.equal((await gates.require('gate.x')).status, 'approved')
})
