import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { ConversationsConfig } from '../../../../coordinator/agents/conversations/conversations-config.ts'
import { RemoteAgents } from '../../../../coordinator/agents/conversations/remote-agent.ts'
import { Outbound } from '../../../../coordinator/kernel/outbound/outbound-config.ts'
import { createSender } from '../../../../coordinator/kernel/outbound/sender.ts'
import { DocumentError } from '../../../../shared/foreign/document.ts'
import { readDocument } from '../../../../shared/foreign/read-document.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { governanceScene } from '../../../support/governance.ts'
import { REFUSED_ADDRESSES } from '../../../support/refused-addresses.ts'
import { newerAgent, olderAgent } from '../../../support/sdk-agents.ts'

type Card = (base: string) => object
type Rpc = { method: string; id: string; params: { message: { parts: { text: string }[] } } }
type Answer = (asked: Rpc) => object

const NEWER: Card = base => ({
  supportedInterfaces: [{ url: `${base}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
})
const OLDER: Card = base => ({
  url: `${base}/rpc`,
  protocolVersion: '0.3.0',
  preferredTransport: 'JSONRPC',
})

/** A small agent of somebody else on loopback, as HTTP. */
const agent = async (t: Test, card: Card, answer: Answer, status = 200) => {
  const asked: Rpc[] = []
  const headers: unknown[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const piece of request) body += piece
    const base = `http://127.0.0.1:${port}`
    headers.push(request.headers)
    if (request.method === 'GET') return void response.end(JSON.stringify(card(base)))
    const rpc = JSON.parse(body) as Rpc
    asked.push(rpc)
    response.writeHead(status, { location: `${base}/elsewhere` })
    response.end(JSON.stringify({ jsonrpc: '2.0', id: rpc.id, ...answer(rpc) }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  t.teardown(() => server.close())
  return { asked, headers, place: `127.0.0.1:${port}`, card: `http://127.0.0.1:${port}/card` }
}

const signal = new AbortController().signal
const agentsAt = (places: string[], settings: object = {}, allow = places, read = readDocument) =>
  new RemoteAgents({
    runtime: systemRuntime,
    sender: createSender({
      runtime: systemRuntime,
      config: Outbound.parse({ allow, allow_http: true }),
    }),
    config: ConversationsConfig.parse({ agents: places, ...settings }),
    credentials: { headersFor: async () => ({}) },
    read,
    wait: async () => {},
  })
const done =
  (text: string): Answer =>
  () => ({ result: { message: { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text }] } } })

t.test('an agent of 1.0 receives only text, and its text is returned', async t => {
  const { asked, headers, place, card } = await agent(t, NEWER, done('hello'))
  t.equal(await agentsAt([place]).ask(card, 'what?', signal), 'hello')
  t.match(asked, [{ method: 'SendMessage', params: { message: { role: 'ROLE_USER' } } }])
  t.strictSame(asked[0]?.params.message.parts, [{ text: 'what?' }])
  t.match(headers[1], { 'a2a-version': '1.0' })
  t.notOk(headers.some(each => 'authorization' in (each as object)))
})

t.test('an agent that supports only 0.3 is addressed in 0.3', async t => {
  const result = { kind: 'message', role: 'agent', parts: [{ kind: 'text', text: 'old' }] }
  const older = await agent(t, OLDER, () => ({ result }))
  t.equal(await agentsAt([older.place]).ask(older.card, 'x', signal), 'old')
  t.match(older.asked, [{ method: 'message/send', params: { message: { kind: 'message' } } }])
  const lying = await agent(t, NEWER, ({ method }) =>
    method === 'SendMessage' ? { error: { code: -32601, message: 'unknown' } } : { result },
  )
  t.equal(await agentsAt([lying.place]).ask(lying.card, 'x', signal), 'old')
  t.equal(lying.asked.length, 2)
})

t.test('the text of a task is its artifacts, and a stalled task is not an answer', async t => {
  const task =
    (state: string, more: object = {}): Answer =>
    () => ({ result: { task: { id: 'task', status: { state }, ...more } } })
  const artifacts = [
    { parts: [{ text: 'one' }, { data: { n: 2 } }] },
    { parts: [{ text: 'three' }] },
  ]
  const told = {
    status: { state: 'TASK_STATE_INPUT_REQUIRED', message: { parts: [{ text: 'which?' }] } },
  }
  for (const [answer, wanted] of [
    [task('TASK_STATE_COMPLETED', { artifacts }), 'one\n{"n":2}\n\nthree'],
    [() => ({ result: { task: { id: 'task', ...told } } }), 'which?'],
    [
      () => ({ result: { kind: 'task', id: 't', status: { state: 'completed' }, artifacts } }),
      'one\n{"n":2}\n\nthree',
    ],
  ] as [Answer, string][]) {
    const { place, card } = await agent(t, NEWER, answer)
    t.equal(await agentsAt([place]).ask(card, 'x', signal), wanted)
  }
  for (const [answer, message] of [
    [task('TASK_STATE_AUTH_REQUIRED'), /is auth-required/],
    [task('TASK_STATE_FAILED'), /is failed/],
    [task('TASK_STATE_COMPLETED'), /without text/],
    [() => ({ error: { code: -32000, message: 'broken' } }), /error -32000: broken/],
    [() => ({}), /without text/],
  ] as [Answer, RegExp][]) {
    const { place, card } = await agent(t, NEWER, answer)
    await t.rejects(agentsAt([place]).ask(card, 'x', signal), {
      code: 'cell_unavailable',
      message,
    })
  }
})

t.test('an agent that is temporarily unavailable is retried, but not forever', async t => {
  const working = { result: { task: { id: 'far', status: { state: 'TASK_STATE_WORKING' } } } }
  const createFollowedAgent = (answers: object[]) =>
    agent(t, NEWER, ({ method }) =>
      method === 'SendMessage' ? working : (answers.shift() ?? { error: 'broken' }),
    )
  const artifacts = [{ parts: [{ text: 'late' }] }]
  const createEndedTask = (state: string) => ({
    result: { id: 'far', status: { state }, artifacts },
  })
  const broken = { error: 'broken' }
  const done = createEndedTask('TASK_STATE_COMPLETED')
  const slow = await createFollowedAgent([broken, broken, working, broken, broken, done])
  t.equal(await agentsAt([slow.place]).ask(slow.card, 'x', signal), 'late')
  t.ok(slow.asked.slice(1).every(({ method }) => method === 'GetTask'))
  for (const [answers, message, methods] of [
    [[], /not JSON-RPC/, ['GetTask', 'GetTask', 'GetTask', 'CancelTask']],
    [[createEndedTask('TASK_STATE_FAILED')], /is failed/, ['GetTask', 'CancelTask']],
    [
      [{ error: { code: -32001, message: 'unknown task' } }],
      /unknown task/,
      ['GetTask', 'CancelTask'],
    ],
  ] as const) {
    const { asked, place, card } = await createFollowedAgent([...answers])
    await t.rejects(agentsAt([place]).ask(card, 'x', signal), { code: 'cell_unavailable', message })
    t.strictSame(
      asked.slice(1).map(({ method }) => method),
      methods,
    )
  }
})

t.test('an agent that redirects, refuses, or answers too much yields no answer', async t => {
  const moved = await agent(t, NEWER, done('x'), 302)
  await t.rejects(agentsAt([moved.place]).ask(moved.card, 'x', signal), { message: /status 302/ })
  t.equal(moved.asked.length, 1, 'no redirect was followed')
  const large = await agent(t, NEWER, done('x'.repeat(5000)))
  await t.rejects(
    agentsAt([large.place], { agent_answer_bytes: 2000 }).ask(large.card, 'x', signal),
    { code: 'cell_unavailable', message: /too much: the answer has more than 2000 bytes/ },
  )
  const leaving = new AbortController()
  leaving.abort()
  await t.rejects(agentsAt([large.place]).ask(large.card, 'x', leaving.signal))
})

t.test('an answer that is not read is refused with the reason', async t => {
  const values = await agent(t, NEWER, () => ({ result: Array(60_000).fill(0) }))
  const deep = await agent(t, NEWER, () => ({
    result: JSON.parse('['.repeat(99) + ']'.repeat(99)),
  }))
  for (const [{ place, card }, message] of [
    [values, /answer has more than 50000 values/],
    [deep, /answer nests deeper than 64/],
  ] as const)
    await t.rejects(agentsAt([place]).ask(card, 'x', signal), { code: 'cell_unavailable', message })
  const page = createServer((_request, response) => response.end('<html>')).listen(0, '127.0.0.1')
  t.teardown(() => page.close())
  await once(page, 'listening')
  const place = `127.0.0.1:${(page.address() as AddressInfo).port}`
  await t.rejects(agentsAt([place]).ask(`http://${place}/card`, 'x', signal), {
    message: /that is not JSON$/,
  })
  const busy = async () => {
    throw new DocumentError('busy', 'waits behind too many others')
  }
  await t.rejects(agentsAt([place], {}, [place], busy).ask(`http://${place}/card`, 'x', signal), {
    code: 'rate_limited',
    message: /answer waits behind too many others/,
    retryAfterSeconds: 10,
  })
})

t.test('a card that names a forbidden address is not followed', async t => {
  const target = await agent(t, NEWER, done('inner'))
  const luring = await agent(t, () => NEWER(`http://${target.place}`), done('x'))
  const agents = agentsAt([luring.place], {}, [luring.place, target.place])
  await t.rejects(agents.ask(luring.card, 'x', signal), {
    code: 'invalid_request',
    message: /conversations.agents/,
  })
  t.equal(target.asked.length, 0)
  for (const [what, url] of REFUSED_ADDRESSES) {
    const { place, card } = await agent(t, () => ({ supportedInterfaces: [{ url }] }), done('x'))
    await t.rejects(agentsAt([place]).ask(card, 'x', signal), { code: 'invalid_request' }, what)
  }
})

t.test('every forbidden address is refused even where all public ones are allowed', async t => {
  const everywhere = ['0.0.0.0/0:443', '[::/0]:443', 'hooks.acme-corp.com:443']
  const { demo, call } = await governanceScene(t, {
    conversing: { settings: { agents: everywhere } },
  })
  for (const [what, url] of REFUSED_ADDRESSES) {
    const participants = [{ id: 'far', type: 'agent', url }]
    const { status, json } = await call(demo.operator, 'POST', '/a2a/conversations', {
      participants,
    })
    t.match([status, json.error?.code], [422, 'invalid_request'], what)
    await t.rejects(agentsAt(everywhere, {}, []).ask(url, 'x', signal), { code: 'invalid_request' })
  }
  const unlisted = [{ id: 'far', type: 'agent', url: 'https://agents.acme-corp.com/' }]
  const { json } = await call(demo.operator, 'POST', '/a2a/conversations', {
    participants: unlisted,
  })
  t.match(json.error, { param: 'participants.0.url', message: /agents.acme-corp.com:443/ })
})

for (const [what, open] of [
  ['1.0', newerAgent],
  ['0.3', olderAgent],
] as const)
  t.test(`an agent of the public SDK for ${what} takes part in a conversation`, async t => {
    const { heard, place, card } = await open(t, 'I am far away')
    const { demo, call } = await governanceScene(t, {
      conversing: { settings: { agents: [place] }, outbound: { allow: [place], allow_http: true } },
    })
    const participants = [{ id: 'far', type: 'agent', url: card, name: 'Far' }]
    const made = await call(demo.pro, 'POST', '/a2a/conversations', { participants })
    t.equal(made.status, 201)
    const path = `/a2a/conversations/${made.json.id}/message`
    const { json } = await call(demo.pro, 'POST', path, { content: '@far where are you?' })
    t.match(json.replies, [{ from: 'far', content: 'I am far away', state: 'done' }])
    t.match(heard, [/^@\S+ wrote:\n> @far where are you\?$/])
  })
