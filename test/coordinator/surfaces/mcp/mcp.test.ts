import type { AddressInfo } from 'node:net'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import t, { type Test } from 'tap'
import type { Views } from '../../../../coordinator/assembly/coordinator.ts'
import { isTool } from '../../../../coordinator/kernel/declaration/declaration.ts'
import { operations } from '../../../../coordinator/surfaces/catalogue/operations.ts'
import { skills } from '../../../../coordinator/surfaces/catalogue/skills.ts'
import { VERSION } from '../../../../shared/version.ts'
import { appWith, views } from '../../../support/app.ts'
import { silent } from '../../../support/cell.ts'
import { createEvents } from '../../../support/memory-events.ts'

const fakes = {
  fleet: { cells: () => [], cell: () => undefined, serves: () => false },
  cells: { list: async () => [], get: async () => undefined },
  settings: { list: async () => new Map() },
  monitor: { alerts: () => [], isDegraded: () => false, latest: () => undefined },
} as unknown as Partial<Views>

/** The server on a port of its own. */
const startServer = async (t: Test, parts: Parameters<typeof appWith>[0] = {}) => {
  const app = await appWith({ views: views(fakes), ...parts })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  return `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
}

const clientOf = async (
  t: Test,
  base: string,
  { key = 'admin-key', path = '/mcp/', era = {} } = {},
) => {
  const client = new Client({ name: 'test', version: '1' }, era)
  const headers = { authorization: `Bearer ${key}` }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(base + path), { requestInit: { headers } }),
  )
  t.teardown(() => client.close())
  return client
}

const MODERN = { era: { versionNegotiation: { mode: 'auto' } } } as const

const post = (base: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${base}/mcp/`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-11-25',
      authorization: 'Bearer admin-key',
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })

const call = (name: string, input: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: input },
})

const everyId = [...skills, ...operations].filter(isTool).map(({ id }) => id)

t.test('the tools are listed in one order for clients of both eras', async t => {
  const base = await startServer(t)
  for (const options of [{}, MODERN, { path: '/mcp' }]) {
    const client = await clientOf(t, base, options)
    const { tools } = await client.listTools()
    t.strictSame(
      tools.map(({ name }) => name),
      everyId,
    )
    t.same(client.getServerVersion()?.version, VERSION)
  }
  const old = new OldClient({ name: 'old', version: '1' })
  const headers = { authorization: 'Bearer admin-key' }
  await old.connect(
    new OldTransport(new URL(`${base}/mcp/`), { requestInit: { headers } }) as never,
  )
  t.teardown(() => old.close())
  const names: string[] = []
  let cursor: string | undefined
  do {
    const page = await old.listTools(cursor === undefined ? {} : { cursor })
    names.push(...page.tools.map(({ name }) => name))
    cursor = page.nextCursor
  } while (cursor !== undefined)
  t.strictSame(names, everyId, 'page by page')
})

t.test('a key sees the tools that it may use', async t => {
  const base = await startServer(t)
  const client = await clientOf(t, base, { key: 'free-key' })
  const names = (await client.listTools()).tools.map(({ name }) => name)
  t.ok(names.includes('tiers-list'))
  t.notOk(names.includes('cells-list'))
  const refused = await client.callTool({ name: 'cells-list', arguments: {} })
  t.equal(refused.isError, true)
  t.match(JSON.stringify(refused.content), /forbidden/)
})

t.test('a call returns data that matches the published schema, and the same as text', async t => {
  const base = await startServer(t)
  for (const options of [{}, MODERN]) {
    const client = await clientOf(t, base, options)
    await client.listTools()
    const { structuredContent, content } = await client.callTool({
      name: 'alerts-list',
      arguments: {},
    })
    t.equal((structuredContent as { data_state: string }).data_state, 'empty')
    const [first] = content as { text: string }[]
    t.same(JSON.parse(first?.text ?? ''), structuredContent)
  }
})

t.test('invalid input yields an answer that the model can read', async t => {
  const base = await startServer(t)
  const client = await clientOf(t, base)
  const answer = await client.callTool({ name: 'gate-routing-query', arguments: { gate: 'x' } })
  t.equal(answer.isError, true)
  t.match(JSON.stringify(answer.content), /invalid_request/)
})

t.test('an unknown tool is a protocol error', async t => {
  const base = await startServer(t)
  const answer = (await (await post(base, call('no-such-tool'))).text()) as string
  t.match(answer, /-32602/)
  t.match(answer, /no-such-tool/)
})

t.test('toolsets narrow the list, and an unknown one is refused by name', async t => {
  const base = await startServer(t)
  const client = await clientOf(t, base, { path: '/mcp/?toolsets=fleet,gates' })
  const names = (await client.listTools()).tools.map(({ name }) => name)
  t.ok(names.includes('vram-guard'))
  t.ok(names.includes('gates-list'))
  t.notOk(names.includes('cells-list'))
  const bad = await fetch(`${base}/mcp/?toolsets=nonsense`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer admin-key' },
    body: '{}',
  })
  t.equal(bad.status, 422)
  t.match(await bad.text(), /no toolset .*nonsense.*gates/)
})

t.test('the list has schemas of outputs only for a client that asks for them', async t => {
  const base = await startServer(t)
  const plain = await (await clientOf(t, base)).listTools()
  t.notOk(plain.tools.some(({ outputSchema }) => outputSchema !== undefined))
  const full = await (await clientOf(t, base, { path: '/mcp/?schemas=full' })).listTools()
  t.ok(full.tools.every(({ outputSchema }) => outputSchema?.type === 'object'))
  t.ok(JSON.stringify(plain).length * 4 < JSON.stringify(full).length)
  await t.rejects(clientOf(t, base, { path: '/mcp/?schemas=some' }), /schemas must be full/)
})

t.test('a list of two tools finds and calls every tool that the key may use', async t => {
  const base = await startServer(t)
  const client = await clientOf(t, base, { path: '/mcp/?toolsets=find' })
  const { tools } = await client.listTools()
  t.strictSame(
    tools.map(({ name }) => name),
    ['find-tools', 'call-tool'],
  )
  t.ok(JSON.stringify(tools).length < 4000)
  const find = async (ask: object, from = client) =>
    (await from.callTool({ name: 'find-tools', arguments: { ...ask } })).structuredContent as {
      tools: { name: string; input_schema: object; effect: string }[]
      total: number
    }
  const alerts = await find({ query: 'which alerts are open' })
  t.equal(alerts.tools[0]?.name, 'alerts-list')
  t.match(alerts.tools[0], { effect: 'read', input_schema: { type: 'object' } })
  t.equal((await find({ query: 'cells', limit: 2 })).tools.length, 2)
  // letters begin every name: a search for all of them would compare each word with each tool
  t.ok((await find({ query: 'c d e f g h m p r s t' })).total < 50)
  t.ok(
    (await find({ query: 'list', group: 'alerts' })).tools.every(({ name }) => /alert/.test(name)),
  )
  const call = { name: 'alerts-list', arguments: { limit: 5 } }
  const answer = await client.callTool({ name: 'call-tool', arguments: call })
  t.equal((answer.structuredContent as { data_state: string }).data_state, 'empty')
  const free = await clientOf(t, base, { path: '/mcp/?toolsets=find', key: 'free-key' })
  t.notOk(
    (await find({ query: 'cells list' }, free)).tools.some(({ name }) => name === 'cells-list'),
  )
  const refused = await free.callTool({ name: 'call-tool', arguments: { name: 'cells-list' } })
  t.match(JSON.stringify(refused.content), /forbidden/)
})

t.test('a wrong call of the two tools is an answer that the model can read', async t => {
  const base = await startServer(t)
  const client = await clientOf(t, base, { path: '/mcp/?toolsets=find' })
  for (const [name, input, expected] of [
    ['call-tool', { name: 'no-such-tool' }, /find-tools returns the names/],
    ['call-tool', { name: 'call-tool' }, /no tool/],
    ['call-tool', { name: 'alerts-list', arguments: { limit: 'many' } }, /invalid_request/],
    ['call-tool', {}, /name is missing/],
    ['find-tools', { query: '' }, /query/],
  ] as const) {
    const answer = await client.callTool({ name, arguments: { ...input } })
    t.equal(answer.isError, true)
    t.match(JSON.stringify(answer.content), expected)
  }
  const plain = await clientOf(t, base)
  await t.rejects(plain.callTool({ name: 'find-tools', arguments: {} }), /no tool/)
})

t.test('the toolset of a role has what its holder works with', async t => {
  const base = await startServer(t)
  const list = async (key: string) =>
    (await (await clientOf(t, base, { path: '/mcp/?toolsets=role', key })).listTools()).tools
  const reviewer = (await list('reviewer-key')).map(({ name }) => name)
  t.ok(['gates-approve', 'audit-query', 'alerts-list'].every(name => reviewer.includes(name)))
  t.notOk(reviewer.some(name => /^(host|module)-/.test(name)))
  const client = (await list('free-key')).map(({ name }) => name)
  t.ok(client.includes('conversations-create'))
  t.notOk(client.includes('gates-approve'))
  t.ok(JSON.stringify(await list('admin-key')).length < 100_000)
})

t.test('a caller without a valid key learns nothing', async t => {
  const base = await startServer(t)
  const answer = await post(base, call('tiers-list'), { authorization: 'Bearer wrong' })
  t.equal(answer.status, 401)
  t.match(answer.headers.get('www-authenticate'), /Bearer/)
})

t.test('a page of a foreign origin is refused, and one of the coordinator is not', async t => {
  const base = await startServer(t)
  const foreign = await post(base, call('tiers-list'), { origin: 'https://evil.example' })
  t.equal(foreign.status, 403)
  t.match(await foreign.text(), /origin_not_allowed/)
  t.equal((await post(base, call('tiers-list'), { origin: 'null' })).status, 403)
  t.equal((await post(base, call('tiers-list'), { origin: base })).status, 200)
})

t.test('every answer carries the common headers', async t => {
  const base = await startServer(t)
  const answer = await post(base, call('tiers-list'))
  t.equal(answer.headers.get('x-ratelimit-limit'), '1000')
  t.match(answer.headers.get('x-request-id'), /^req_/)
})

t.test('malformed, too deep or too large JSON is refused as on every route', async t => {
  const base = await startServer(t)
  t.equal((await post(base, '{')).status, 422)
  t.equal((await post(base, '['.repeat(5000))).status, 422)
  const wrong = await post(base, JSON.stringify({ jsonrpc: '2.0', id: 'a', method: null }))
  t.strictSame(
    [wrong.status, await wrong.json()],
    [400, { jsonrpc: '2.0', id: 'a', error: { code: -32600, message: 'method must be a string' } }],
  )
})

t.test('read operations are resources with their query in the address', async t => {
  const base = await startServer(t)
  const client = await clientOf(t, base, MODERN)
  const { resources } = await client.listResources()
  const uris = resources.map(({ uri }) => uri)
  for (const list of ['cells', 'gates/requests', 'sessions', 'audit'])
    t.ok(uris.includes(`shoal://${list}`), list)
  t.notOk(
    uris.some(uri => /(cells|devices)\/.*series/.test(uri)),
    'a series needs to be told which one',
  )
  const { resourceTemplates } = await client.listResourceTemplates()
  t.ok(resourceTemplates.some(({ uriTemplate }) => uriTemplate === 'shoal://cells/{cell_id}'))
  t.notOk(uris.includes('shoal://keys'), 'what is no tool is no resource')
  const page = await client.readResource({ uri: 'shoal://alerts?state=all&limit=1' })
  t.match(JSON.stringify(page.contents), /fleet_degraded/)
  await t.rejects(client.readResource({ uri: 'shoal://nothing' }), /no resource/)
  await t.rejects(client.readResource({ uri: 'file:///etc/passwd' }), /no resource/)
  await t.rejects(client.readResource({ uri: 'shoal://alerts?limit=many' }), /limit/)
})

t.test('prompts are offered to keys that have their tools', async t => {
  const base = await startServer(t)
  const client = await clientOf(t, base)
  const { prompts } = await client.listPrompts()
  t.ok(prompts.some(({ name }) => name === 'review-a-request'))
  const { messages } = await client.getPrompt({
    name: 'review-a-request',
    arguments: { request_id: 'r1' },
  })
  t.match(JSON.stringify(messages), /r1/)
  await t.rejects(client.getPrompt({ name: 'review-a-request' }), /request_id is missing/)
  await t.rejects(client.getPrompt({ name: 'no-such-prompt' }), /no prompt/)
  const free = await clientOf(t, base, { key: 'free-key' })
  t.same((await free.listPrompts()).prompts, [])
})

t.test('an answer from a list counts as a call, as a read over REST does', async t => {
  const base = await startServer(t)
  const asked = [
    { method: 'tools/list' },
    { method: 'resources/list' },
    { method: 'resources/templates/list' },
    { method: 'prompts/list' },
    { method: 'prompts/get', params: { name: 'check-the-fleet' } },
    { method: 'resources/read', params: { uri: 'shoal://card' } },
    { method: 'resources/read', params: { uri: 'shoal://tiers' } },
    { method: 'resources/read', params: { uri: 'shoal://nothing' } },
    { method: 'tools/call', params: { name: 'tiers-list', arguments: {} } },
  ]
  const ask = async (at: number, key = 'pro-key') => {
    const body = { jsonrpc: '2.0', id: 1, ...asked[at % asked.length] }
    const response = await post(base, body, { authorization: `Bearer ${key}` })
    const text = await response.text()
    return JSON.parse(text.split('data: ').at(-1) ?? '')
  }
  for (let at = 0; at < 60; at++) t.notMatch(JSON.stringify(await ask(at)), LIMITED)
  for (const at of asked.keys()) {
    const answer = await ask(at)
    t.match(JSON.stringify(answer), /60 calls a minute/, `${asked[at]?.method}`)
    if (answer.error !== undefined)
      t.match(answer.error, { code: -32089, data: { code: 'rate_limited' } })
  }
  t.notMatch(JSON.stringify(await ask(0, 'enterprise-key')), LIMITED, 'another key')
})

/** Code and message of a refusal; schemas in a list of tools name the code too. */
const LIMITED = /calls a minute|"code":-32089/

t.test('a stream reports changes of its subscribed resources', async t => {
  const events = createEvents({ source: '/shoal/test', logger: silent })
  const base = await startServer(t, { events })
  const client = await clientOf(t, base, MODERN)
  const told = new Promise<string>(resolve => {
    client.setNotificationHandler('notifications/resources/updated', ({ params }) =>
      resolve(params.uri),
    )
  })
  await client.listen({ resourceSubscriptions: ['shoal://cells'] })
  events.publish('shoal.alert.raised', {}, 'a1')
  events.publish('shoal.cell.ready', {}, 'c1')
  t.equal(await told, 'shoal://cells')
})

t.test('changes in another tenant are not revealed in any form', async t => {
  const events = createEvents({ source: '/shoal/test', logger: silent })
  const gates = { list: async () => [] } as unknown as Views['gates']
  const people = { names: async () => new Map() } as unknown as Views['people']
  const base = await startServer(t, { events, views: views({ ...fakes, gates, people }) })
  const client = await clientOf(t, base, MODERN)
  const told: string[] = []
  const heard = new Promise<void>(resolve => {
    client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
      told.push(params.uri)
      if (params.uri === 'shoal://alerts') resolve()
    })
  })
  await client.listen({ resourceSubscriptions: ['shoal://gates/requests', 'shoal://alerts'] })
  events.publish('shoal.gate.requested', { tenant_id: 'second' }, 'r2')
  events.publish('shoal.alert.raised', {}, 'a1')
  await heard
  t.strictSame(told, ['shoal://alerts'])
  events.publish('shoal.gate.requested', { tenant_id: 'home' }, 'r1')
  while (told.length < 2) await new Promise(setImmediate)
  t.strictSame(told, ['shoal://alerts', 'shoal://gates/requests'])
})

t.test('a key cannot subscribe to a resource that it may not read', async t => {
  const base = await startServer(t)
  const client = await clientOf(t, base, { key: 'free-key', ...MODERN })
  await t.rejects(client.listen({ resourceSubscriptions: ['shoal://cells'] }))
})

const LISTEN = {
  jsonrpc: '2.0',
  id: 1,
  method: 'subscriptions/listen',
  params: {
    notifications: { resourceSubscriptions: ['shoal://card'] },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
}

t.test('one key cannot take all streams, and a closed stream frees its place', async t => {
  const base = await startServer(t)
  const open = new AbortController()
  const listen = (key: string, signal?: AbortSignal) =>
    fetch(`${base}/mcp/`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'subscriptions/listen',
        authorization: `Bearer ${key}`,
      },
      body: JSON.stringify(LISTEN),
      ...(signal && { signal }),
    })
  t.teardown(() => open.abort())
  const first = new AbortController()
  // an answer that nobody holds is collected as garbage, which ends its stream
  const held = [await listen('admin-key', first.signal)]
  while (held.length < 32) held.push(await listen('admin-key', open.signal))
  t.ok(held.every(({ status }) => status === 200))
  const refused = await listen('admin-key', open.signal)
  t.equal(refused.status, 429)
  t.equal((await listen('free-key', open.signal)).status, 200, 'another key')
  first.abort()
  for (;;) {
    const again = await listen('admin-key', open.signal)
    if (again.status === 200) break
    await again.text()
  }
  t.pass('it has come in again')
})

t.test('a client that accepts any type gets the type of the protocol', async t => {
  const base = await startServer(t)
  for (const accept of ['*/*', 'text/html, */*'])
    t.equal((await post(base, call('tiers-list'), { accept })).status, 200, accept)
  for (const accept of ['application/json', 'text/html', 'application/*+x*/*'])
    t.equal((await post(base, call('tiers-list'), { accept })).status, 406, accept)
})
