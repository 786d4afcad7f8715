import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import t, { type Test } from 'tap'
import { type AnyJson, a2aScene, askUntil, caller, message } from '../../../support/a2a.ts'
import { testSkills } from '../../../support/a2a-skills.ts'
import { BY } from '../../kernel/store/temporary.ts'

/* What is open under a key ends with it, on the surfaces of agents too. */

const scene = async (t: Test) => {
  const { skills, done, release } = testSkills()
  const made = await a2aScene(t, { moreSkills: skills })
  t.teardown(release)
  const spec = { tenantId: 'demo', personId: 'operator', tier: 'enterprise' as const }
  const own = await personOf(made)
  const { secret, key } = await made.keys.create(
    { ...spec, personId: own, roles: ['client', 'operator_admin'] },
    BY,
  )
  const revoke = () => made.keys.revoke(key.id, { tenantId: 'demo' }, BY)
  const begin = async () => {
    const sent = await caller(made.url, secret).rpc('SendMessage', {
      message: message({ data: { skill: 'test-slow', input: {} } }),
      configuration: { returnImmediately: true },
    })
    return sent.result.task.id as string
  }
  return { ...made, done, secret, key, revoke, begin, personId: own }
}

const personOf = async ({ store }: Awaited<ReturnType<typeof a2aScene>>): Promise<string> => {
  const query = store.ledger.read.selectFrom('persons').select('id').where('tenant_id', '=', 'demo')
  return (await query.executeTakeFirstOrThrow()).id
}

t.test(
  'an event stream ends with an error when its key is revoked; the task continues',
  async t => {
    const { url, secret, revoke, begin, keys, key } = await scene(t)
    const { tenantId, personId, tier } = key
    const { secret: another } = await keys.create({ tenantId, personId, tier }, BY)
    const id = await begin()
    const events: AnyJson[] = []
    for await (const event of caller(url, secret).stream('SubscribeToTask', { id })) {
      events.push(event)
      if (events.length === 1) await revoke()
    }
    t.equal(events.at(-1)?.error?.message, 'the key is no longer valid')
    const seen = await caller(url, another).rpc('GetTask', { id })
    t.equal(seen.result.status.state, 'TASK_STATE_WORKING')
  },
)

t.test('HTTP+JSON streams and waiting messages end too', async t => {
  const { url, secret, revoke, begin } = await scene(t)
  const id = await begin()
  const rest = caller(`${url}/a2a/rest`, secret, { 'a2a-version': '1.0' })
  const waiting = rest.json('/message:send', {
    message: message({ data: { skill: 'test-slow', input: {} } }),
  })
  const events: AnyJson[] = []
  for await (const event of rest.events(`/tasks/${id}:subscribe`)) {
    events.push(event)
    if (events.length === 1) await revoke()
  }
  t.equal(events.at(-1)?.error?.code, 401)
  t.equal((await waiting).status, 401)
})

t.test('a tenant named in a request is refused while it is disabled', async t => {
  const { url, keys, personId, begin } = await scene(t)
  await begin()
  const { secret } = await keys.create(
    { tenantId: 'demo', personId, tier: 'enterprise', furtherTenants: ['other'] },
    BY,
  )
  const { rpc } = caller(url, secret)
  t.ok((await rpc('ListTasks', { tenant: 'other' })).result)
  await keys.enableTenant('other', false, BY)
  const refused = await rpc('ListTasks', { tenant: 'other' })
  t.match(JSON.stringify(refused.error ?? {}), /may not act for this tenant/)
  t.ok((await rpc('ListTasks', {})).result, 'its own is open')
})

t.test('a stream for a tenant named in the request ends when that tenant is disabled', async t => {
  const { url, keys, personId } = await scene(t)
  const { secret } = await keys.create(
    { tenantId: 'demo', personId, tier: 'enterprise', furtherTenants: ['other'] },
    BY,
  )
  const sent = await caller(url, secret).rpc('SendMessage', {
    tenant: 'other',
    message: message({ data: { skill: 'test-slow', input: {} } }),
    configuration: { returnImmediately: true },
  })
  const events: AnyJson[] = []
  const params = { id: sent.result.task.id, tenant: 'other' }
  for await (const event of caller(url, secret).stream('SubscribeToTask', params)) {
    events.push(event)
    if (events.length === 1) await keys.enableTenant('other', false, BY)
  }
  t.equal(events.at(-1)?.error?.message, 'the key may no longer act for this tenant')
})

t.test('a subscription over MCP ends when the person of its key is disabled', async t => {
  const { url, secret, keys, key } = await scene(t)
  const headers = { authorization: `Bearer ${secret}` }
  const response = await fetch(`${url}/mcp/`, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'subscriptions/listen',
      params: {
        notifications: { resourceSubscriptions: ['shoal://tiers'] },
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
          'io.modelcontextprotocol/clientCapabilities': {},
        },
      },
    }),
  })
  t.equal(response.status, 200)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const first = await reader.read()
  t.equal(first.done, false)
  await keys.enablePerson(key.personId, false, { tenantId: 'demo' }, BY)
  let told = ''
  const readToEnd = async () => {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      told += Buffer.from(value).toString()
    }
  }
  await readToEnd().catch(() => {})
  t.match(told, /"error":\{"code":-32081,.*auth_required/, 'it has ended, and said why')
})

t.test('a read-only call over MCP ends with the reason', async t => {
  const { url, secret, revoke, done } = await scene(t)
  const client = new Client({ name: 'test', version: '1' })
  const headers = { authorization: `Bearer ${secret}` }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${url}/mcp/`), { requestInit: { headers } }),
  )
  t.teardown(() => client.close())
  const called = client.callTool({ name: 'test-again', arguments: {} })
  await askUntil(
    async () => done,
    all => all.includes('again'),
  )
  await revoke()
  const answer = await called
  t.equal(answer.isError, true)
  t.match(JSON.stringify(answer.content), /no longer valid.*auth_required/)
})

t.test('one key cannot take all streams, and a closed stream frees its place', async t => {
  const { url, begin, secret } = await scene(t)
  const id = await begin()
  const open = new AbortController()
  t.teardown(() => open.abort())
  const subscribe = (key: string, signal: AbortSignal) =>
    fetch(`${url}/a2a/rest/tasks/${id}:subscribe`, {
      headers: { authorization: `Bearer ${key}`, 'a2a-version': '1.0' },
      signal,
    })
  const first = new AbortController()
  t.equal((await subscribe(secret, first.signal)).status, 200)
  for (let at = 1; at < 64; at++) await subscribe(secret, open.signal)
  t.equal((await subscribe(secret, open.signal)).status, 429)
  first.abort()
  for (;;) {
    const again = await subscribe(secret, open.signal)
    if (again.status === 200) break
    await again.text()
  }
  t.pass('it has come in again')
})
