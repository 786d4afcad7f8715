import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, createServer as listenTcp, type Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import t, { type Test } from 'tap'
import { Outbound } from '../../../../coordinator/kernel/outbound/outbound-config.ts'
import { createSender } from '../../../../coordinator/kernel/outbound/sender.ts'
import {
  newWebhookSecret,
  signatureHeaders,
} from '../../../../coordinator/kernel/outbound/signature.ts'
import { KeptConnections } from '../../../../shared/outbound/connections.ts'
import type { Address } from '../../../../shared/outbound/resolve.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { testCertificate } from './certificate.ts'

const HOST = 'hooks.lan'
const LOOPBACK: Address = { address: '127.0.0.1', family: 4 }
const never = new AbortController().signal
/** tap knows the members of Error alone. */
const failure = (members: object) => members as Error

/** A target with a certificate for its name, and a sender that may ask it. */
const scene = async (
  t: Test,
  answer: RequestListener,
  settings: object = {},
  resolve: (host: string) => Promise<Address[]> = async () => [LOOPBACK],
) => {
  const { cert, key, ca } = await testCertificate(t, HOST)
  const server = createServer({ cert, key }, answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const config = Outbound.parse({ allow: [`${HOST}:${port}`], ...settings })
  const outcomes: string[] = []
  const sender = createSender({
    runtime: systemRuntime,
    config,
    resolve,
    ca,
    onOutcome: each => outcomes.push(each),
  })
  const url = `https://${HOST}:${port}/hook`
  return { sender, url, port, outcomes }
}

t.test('the request carries its host name and goes to the judged address', async t => {
  const seen: object[] = []
  const { sender, url, port, outcomes } = await scene(t, async (request, response) => {
    const pieces = await request.toArray()
    const { method, headers, socket } = request
    const { servername } = socket as TLSSocket & { servername: string }
    const body = Buffer.concat(pieces).toString()
    seen.push({ method, servername, host: headers.host, agent: headers['user-agent'], body })
    response.writeHead(202, { 'retry-after': '7', 'content-type': 'text/plain' }).end('secret')
  })
  const answer = await sender.send({ url, body: '{"a":1}' }, never)
  t.match(answer, { status: 202, retryAfterSeconds: 7, contentType: 'text/plain' })
  t.equal(answer.body.length, 0, 'nothing of the answer is read unless it is wanted')
  t.match(seen, [
    {
      method: 'POST',
      servername: HOST,
      host: `${HOST}:${port}`,
      agent: /^shoal\//,
      body: '{"a":1}',
    },
  ])
  const read = await sender.send({ url, body: '', maxAnswerBytes: 6 }, never)
  t.equal(String(read.body), 'secret')
  await t.rejects(sender.send({ url, maxAnswerBytes: 5 }, never), failure({ reason: 'too_large' }))
  t.strictSame(outcomes, ['2xx', '2xx', 'too_large'])
})

t.test('a redirect is an answer like any other', async t => {
  let requests = 0
  const { sender, url } = await scene(t, (_request, response) => {
    requests++
    response.writeHead(302, { location: 'https://127.0.0.1/' }).end()
  })
  t.equal((await sender.send({ url }, never)).status, 302)
  t.equal(requests, 1)
})

t.test('a name is resolved once per request', async t => {
  const answers: Address[][] = [[LOOPBACK], [{ address: '169.254.169.254', family: 4 }]]
  const { sender, url } = await scene(
    t,
    (_request, response) => response.end(),
    {},
    async () => answers.shift() ?? [],
  )
  t.equal((await sender.send({ url }, never)).status, 200)
  t.equal(answers.length, 1)
  await t.rejects(
    sender.send({ url }, never),
    failure({ reason: 'refused' }),
    'it has changed its mind',
  )
  await t.rejects(sender.send({ url }, never), failure({ reason: 'not_resolved' }))
})

t.test('a public name that resolves to any non-public address is refused', async t => {
  const url = 'https://hooks.acme-corp.com/'
  const config = Outbound.parse({})
  const open: Address = { address: '8.8.8.8', family: 4 }
  for (const address of ['127.0.0.1', '10.0.0.1', '::1', '::ffff:10.0.0.1', '64:ff9b::a00:1']) {
    const bad: Address = { address, family: address.includes(':') ? 6 : 4 }
    for (const found of [[bad], [open, bad], [bad, open]]) {
      const sender = createSender({ runtime: systemRuntime, config, resolve: async () => found })
      await t.rejects(
        sender.send({ url }, never),
        failure({ reason: 'refused' }),
        JSON.stringify(found),
      )
    }
  }
})

t.test('a forbidden address is refused when it is configured and when it is used', async t => {
  const sender = createSender({ runtime: systemRuntime, config: Outbound.parse({}) })
  t.throws(() => sender.judge('http://127.0.0.1/'), { code: 'invalid_request' })
  await t.rejects(sender.send({ url: 'http://127.0.0.1/' }, never), failure({ reason: 'refused' }))
})

t.test('an untrusted certificate is a failure', async t => {
  const { port } = await scene(t, (_request, response) => response.end())
  const config = Outbound.parse({ allow: [`${HOST}:${port}`] })
  const sender = createSender({ runtime: systemRuntime, config, resolve: async () => [LOOPBACK] })
  const sent = sender.send({ url: `https://${HOST}:${port}/` }, never)
  await t.rejects(sent, failure({ reason: 'not_reached', message: /CERT|ISSUER/ }))
})

t.test('a target that is silent or never ends times out', async t => {
  const settings = { answer_seconds: 0.1 }
  const silent = await scene(t, () => {}, settings)
  await t.rejects(silent.sender.send({ url: silent.url }, never), failure({ reason: 'timed_out' }))
  const endless = await scene(t, (_request, response) => response.write('x'), settings)
  const message = { url: endless.url, maxAnswerBytes: 100 }
  await t.rejects(endless.sender.send(message, never), failure({ reason: 'timed_out' }))
  const hanging = await scene(
    t,
    () => {},
    { connect_seconds: 0.1 },
    () => new Promise(() => {}),
  )
  await t.rejects(
    hanging.sender.send({ url: hanging.url }, never),
    failure({ reason: 'timed_out' }),
  )
})

t.test('the caller can abort a request', async t => {
  const stopping = new AbortController()
  const { sender, url } = await scene(t, () => stopping.abort())
  await t.rejects(sender.send({ url }, stopping.signal), failure({ reason: 'aborted' }))
  await t.rejects(sender.send({ url }, stopping.signal), failure({ reason: 'aborted' }))
})

t.test('the requests to one target are limited at once and per minute', async t => {
  const held = Promise.withResolvers<void>()
  const arrived = Promise.withResolvers<void>()
  const settings = { target_concurrency: 1, target_per_minute: 2 }
  const { sender, url } = await scene(
    t,
    async (_request, response) => {
      arrived.resolve()
      await held.promise
      response.end()
    },
    settings,
  )
  const first = sender.send({ url }, never)
  await arrived.promise
  await t.rejects(sender.send({ url }, never), failure({ reason: 'busy', retryAfterSeconds: 1 }))
  held.resolve()
  await first
  await sender.send({ url }, never)
  await t.rejects(sender.send({ url }, never), failure({ reason: 'busy' }))
})

t.test('repeated messages share a connection, but only at the same judged addresses', async t => {
  const ports = new Set<number | undefined>()
  let found: Address[] = [LOOPBACK]
  const { sender, url } = await scene(
    t,
    (request, response) => {
      ports.add(request.socket.remotePort)
      response.end('a short body is read for the next request')
    },
    {},
    async () => found,
  )
  const deliver = () => sender.send({ url, isRepeated: true }, never)
  for (let count = 0; count < 9; count++) t.equal((await deliver()).status, 200)
  const shared = ports.size
  t.ok(shared <= 2, `${shared} connections`)
  await sender.send({ url }, never)
  t.equal(ports.size, shared + 1, 'a message that is sent once has a connection of its own')
  found = [LOOPBACK, LOOPBACK]
  t.equal((await deliver()).status, 200)
  t.equal(ports.size, shared + 2, 'the name has other addresses')
  found = [{ address: '169.254.169.254', family: 4 }]
  await t.rejects(deliver(), failure({ reason: 'refused' }), 'an open connection is judged again')
})

t.test('a connection is used again only with the same authorities and the same TLS', t => {
  const kept = new KeptConnections()
  const target = { url: new URL('https://hooks.lan/a'), addresses: [LOOPBACK], connectSeconds: 1 }
  const other = { ...target, url: new URL('https://hooks.lan/b') }
  t.equal(kept.take(other), kept.take(target), 'the path makes no difference')
  const differing = [
    { ca: 'PEM' },
    { tls: { rejectUnauthorized: false } },
    { tls: { servername: 'other.lan' } },
    { tls: { cert: 'PEM', key: 'PEM' } },
  ]
  const taken = differing.map(more => kept.take({ ...target, ...more }))
  t.equal(new Set([kept.take(target), ...taken]).size, 5)
  t.end()
})

t.test('a target that cuts, drips, floods or overflows its answer harms nothing', async t => {
  const answers: RequestListener[] = [
    (_request, response) => {
      response.writeHead(200, { connection: 'close', 'content-length': 2 ** 22 })
      response.write(Buffer.alloc(2 ** 20), () => response.destroy())
    },
    (_request, response) => {
      response.writeHead(200, { connection: 'close' }).write(Buffer.alloc(2 ** 20))
      response.socket?.end()
    },
    (_request, response) => {
      const drip = setInterval(() => response.write('x'), 20)
      response.writeHead(200).once('close', () => clearInterval(drip))
    },
    (_request, response) => void response.writeHead(200).end(Buffer.alloc(2 ** 22)),
  ]
  const { sender, url } = await scene(t, (request, response) =>
    answers[Number(new URL(String(request.url), url).searchParams.get('at'))]?.(request, response),
  )
  const ask = (at: number, more: object) => sender.send({ url: `${url}?at=${at}`, ...more }, never)
  for (const [at] of answers.entries()) {
    t.equal((await ask(at, {})).status, 200, 'the head is enough')
    t.equal((await ask(at, { isRepeated: true })).status, 200, 'and on a shared connection')
    await t.rejects(ask(at, { maxAnswerBytes: 30 }), failure({ name: 'SendError' }))
  }
  const many = await scene(t, (_request, response) => {
    response.writeHead(200, { 'x-long': 'x'.repeat(20_000) }).end()
  })
  await t.rejects(many.sender.send({ url: many.url }, never), failure({ reason: 'not_reached' }))
})

t.test('a value with a line end adds no header and no request', async t => {
  let requests = 0
  const { sender, url } = await scene(t, (_request, response) => {
    requests++
    response.end()
  })
  for (const value of ['a\r\nx-admin: 1', 'a\nb', 'a\0b']) {
    const sent = sender.send({ url, headers: { 'x-name': value } }, never)
    await t.rejects(sent, failure({ reason: 'not_reached' }))
  }
  t.equal(requests, 0)
})

t.test('an oversized body is not sent', async t => {
  const { sender, url } = await scene(t, (_request, response) => response.end())
  await t.rejects(
    sender.send({ url, body: 'x'.repeat(2 ** 20 + 1) }, never),
    failure({ reason: 'too_large' }),
  )
})

t.test('a signature follows Standard Webhooks, one for each secret', async t => {
  const secrets = [newWebhookSecret(), newWebhookSecret()]
  const headers = signatureHeaders({ id: 'e1', timestampSeconds: 17, body: '{}' }, secrets)
  const own = secrets.map(secret => {
    const bytes = Buffer.from(secret.slice('whsec_'.length), 'base64')
    t.equal(bytes.length, 32)
    return `v1,${createHmac('sha256', bytes).update('e1.17.{}').digest('base64')}`
  })
  t.strictSame(headers, {
    'webhook-id': 'e1',
    'webhook-timestamp': '17',
    'webhook-signature': own.join(' '),
  })
  // the example of the specification
  const known = signatureHeaders(
    {
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestampSeconds: 1_614_265_330,
      body: '{"test": 2432232314}',
    },
    ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  )
  t.equal(known['webhook-signature'], 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
})

t.test('a request that is stopped while it connects leaves no connection', async t => {
  const server = listenTcp()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const config = Outbound.parse({ allow: [`${HOST}:${port}`], connect_seconds: 60 })
  const sender = createSender({ runtime: systemRuntime, config, resolve: async () => [LOOPBACK] })
  const stop = new AbortController()
  const sent = sender.send({ url: `https://${HOST}:${port}/` }, stop.signal)
  const [socket] = (await once(server, 'connection')) as [Socket]
  const closed = once(socket.resume(), 'close')
  stop.abort()
  await t.rejects(sent, failure({ reason: 'aborted' }))
  await closed
})
