import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  createTaskSessionFromClient,
  resultFromTaskOutcome,
} from '@modelcontextprotocol/ext-tasks/client'
import t, { type Test } from 'tap'
import * as z from 'zod'
import { OPERATOR_ROLES } from '../../../../coordinator/kernel/declaration/key.ts'
import { defineSkill } from '../../../../coordinator/kernel/declaration/skill.ts'
import { type AnyJson, a2aScene, caller } from '../../../support/a2a.ts'
import { testSkills } from '../../../support/a2a-skills.ts'
import { BY } from '../../kernel/store/temporary.ts'

const PORTAL = 'https://portal.acme-corp.com'
const MODERN = { versionNegotiation: { mode: 'auto' } } as const

const moves: string[] = []
const LIVE = { data_state: 'live', unknown: [] }
const move = defineSkill({
  group: 'fleet',
  id: 'test-move',
  name: 'Moving robot',
  description: 'Move a robot, once, unless it is dry.',
  tags: ['test'],
  access: 'operator',
  effect: 'write',
  needsCallKey: ({ dry_run }) => !dry_run,
  input: z.strictObject({ way: z.string(), dry_run: z.boolean().default(true) }),
  output: z.object({ moved: z.string() }),
  run: ({ way }) => {
    moves.push(way)
    return { moved: way }
  },
})
const { skills: knownSkills, done, release } = testSkills()
const skills = [...knownSkills, move]
const first = await a2aScene(t, { moreSkills: skills })
await first.close()
const scene = await a2aScene(t, {
  moreSkills: skills,
  config: { public: { portal_url: PORTAL } },
  from: { store: first.store, demo: first.demo },
})
t.teardown(release)
const { url, demo } = scene

const clientOf = async (t: Test, options: object = {}, key = demo.operator, path = '/mcp/') => {
  const client = new Client({ name: 'test', version: '1' }, options)
  const headers = { authorization: `Bearer ${key}` }
  await client.connect(
    new StreamableHTTPClientTransport(new URL(path, url), { requestInit: { headers } }),
  )
  t.teardown(() => client.close())
  return client
}

const outputOf = (answer: AnyJson): AnyJson => answer.structuredContent

t.test('a background tool returns its task, and tasks-show returns the state', async t => {
  const client = await clientOf(t)
  const { tools } = await client.listTools()
  const slow = tools.find(({ name }) => name === 'test-slow')
  t.match(slow?.description, /tasks-show/)
  const begun = await client.callTool({ name: 'test-slow', arguments: { steps: 1 } })
  const { task_id } = outputOf(begun)
  const shown = await client.callTool({ name: 'tasks-show', arguments: { task_id } })
  t.equal(outputOf(shown).task_id ?? outputOf(shown).id, task_id)
  const wrong = await client.callTool({ name: 'test-slow', arguments: { steps: 'many' } })
  t.equal(wrong.isError, true)
})

const EXTENSIONS = { 'io.modelcontextprotocol/tasks': {} }

t.test('a task of the extension is cancelled, and an unknown one is an error', async t => {
  const { call } = await taskSession(t)
  const { result } = await call('tools/call', { name: 'test-slow', arguments: { steps: 1_000 } })
  t.match(result, { resultType: 'task', status: 'working', ttlMs: null })
  const { taskId } = result
  t.match(await call('tasks/update', { taskId, inputResponses: {} }), { result: {} })
  t.match(await call('tasks/cancel', { taskId }), { result: { resultType: 'complete' } })
  t.match(await call('tasks/get', { taskId }), { result: { status: 'cancelled' } })
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
    t.match(await call(method, { taskId: 'none', inputResponses: {} }), { error: { code: -32602 } })
})

/** The public client of the extension, which frames its requests and sends them as they are. */
const taskSession = async (t: Test) => {
  const client = await clientOf(t, { ...MODERN, capabilities: { extensions: EXTENSIONS } })
  const framing = {
    protocolVersion: '2026-07-28',
    clientInfo: { name: 'test', version: '1' },
    clientCapabilities: { extensions: EXTENSIONS },
  }
  let id = 0
  const send = async (message: AnyJson): Promise<AnyJson> => {
    const { name, taskId } = message.params
    const response = await fetch(`${url}/mcp/`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${demo.operator}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': framing.protocolVersion,
        'mcp-method': message.method,
        'mcp-name': name ?? taskId,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: ++id, ...message }),
    })
    const text = await response.text()
    return JSON.parse(text.split('data: ').at(-1) ?? '')
  }
  const session = createTaskSessionFromClient(client, {
    endpointId: 'test',
    rawDispatch: async message => {
      const { result, error } = await send(message)
      return error === undefined ? { kind: 'result', result } : { kind: 'error', error }
    },
    v2RequestFraming: framing,
  })
  t.teardown(() => session.close())
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': framing.protocolVersion,
    'io.modelcontextprotocol/clientInfo': framing.clientInfo,
    'io.modelcontextprotocol/clientCapabilities': framing.clientCapabilities,
  }
  const call = (method: string, params: object) => send({ method, params: { ...params, _meta } })
  return { client, session, call }
}

t.test('progress is sent to a client that requests it', async t => {
  for (const options of [{}, MODERN]) {
    const client = await clientOf(t, options)
    const told: AnyJson[] = []
    const answer = await client.callTool(
      { name: 'test-talk', arguments: {} },
      { onprogress: progress => void told.push(progress) },
    )
    t.strictSame(outputOf(answer), { talked: true, ...LIVE })
    t.match(told, [{ progress: 1, total: 2, message: 'half' }])
    t.strictSame(outputOf(await client.callTool({ name: 'test-talk', arguments: {} })), {
      ...{ talked: true, ...LIVE },
    })
  }
})

t.test('the cell is given beside the input where the operation accepts one', async t => {
  const client = await clientOf(t)
  const said = await client.callTool({ name: 'test-echo', arguments: { words: 'a', cell: 'c7' } })
  t.equal(outputOf(said).cell, 'c7')
  const refused = await client.callTool({ name: 'test-talk', arguments: { cell: 'c7' } })
  t.equal(refused.isError, true)
  const wrong = await client.callTool({ name: 'test-echo', arguments: { words: 'a', cell: 7 } })
  t.equal(wrong.isError, true)
})

t.test('the agent card is a resource and counts the existing tools', async t => {
  const client = await clientOf(t)
  const { resources } = await client.listResources()
  t.ok(resources.some(({ uri }) => uri === 'shoal://card'))
  const { contents } = await client.readResource({ uri: 'shoal://card' })
  const card = JSON.parse((contents[0] as { text: string }).text)
  t.same(card, (await caller(url, undefined).json('/.well-known/agent.json')).json)
  const query = scene.store.ledger.read.selectFrom('persons').select('id')
  const person = await query.where('tenant_id', '=', 'demo').executeTakeFirstOrThrow()
  const everyRole = await scene.keys.create(
    {
      tenantId: 'demo',
      personId: person.id,
      tier: 'enterprise' as const,
      roles: [...OPERATOR_ROLES, 'client'],
    },
    BY,
  )
  const all = await (await clientOf(t, {}, everyRole.secret)).listTools()
  t.equal(card.swarm.mcp_tools, all.tools.length)
})

t.test('a call with an idempotency key is carried out once', async t => {
  const client = await clientOf(t)
  const call = {
    name: 'test-slow',
    arguments: { steps: 1 },
    _meta: { 'io.shoal/idempotencyKey': 'once-1' },
  }
  const [one, again] = [await client.callTool(call), await client.callTool(call)]
  t.equal(outputOf(one).task_id, outputOf(again).task_id)
  const other = await client.callTool({ ...call, arguments: { steps: 2 } })
  t.equal(other.isError, true, 'the same key for another call')
  const bad = await client.callTool({ ...call, _meta: { 'io.shoal/idempotencyKey': 7 } })
  t.match(JSON.stringify(bad.content), /idempotencyKey/)
})

t.test(
  'a model gives the key of a live call as an argument, of the tool and of call-tool',
  async t => {
    const lean = await clientOf(t, {}, demo.operator, '/mcp/?toolsets=find')
    const full = await clientOf(t)
    const found = await lean.callTool({
      name: 'find-tools',
      arguments: { query: 'test-move once unless dry', limit: 20 },
    })
    const { input_schema } = outputOf(found).tools.find(({ name }: AnyJson) => name === 'test-move')
    t.match(input_schema, { properties: { idempotency_key: { type: 'string' } } })
    const live = (way: string) => ({ name: 'test-move', arguments: { way, dry_run: false } })
    const callLean = (more: object, call = live('north')) =>
      lean.callTool({ name: 'call-tool', arguments: { ...call, ...more } })
    const textOf = ({ content }: AnyJson): string => JSON.stringify(content)

    const refused = await callLean({})
    t.equal(refused.isError, true)
    t.strictSame(moves, [], 'without a key nothing moves')
    const offered = /([0-9a-f-]{36}) is a new one/.exec(textOf(refused))?.[1]
    const done = await callLean({ idempotency_key: offered })
    t.strictSame(outputOf(done), { moved: 'north', ...LIVE })
    t.equal(done._meta?.['io.shoal/idempotencyReplayed'], undefined)

    const { way, dry_run } = live('north').arguments
    for (const again of [
      await callLean({ idempotency_key: offered }),
      await callLean({ arguments: { way, dry_run, idempotency_key: offered } }),
      await full.callTool({
        name: 'test-move',
        arguments: { way, dry_run, idempotency_key: offered },
      }),
      await lean.callTool({
        name: 'call-tool',
        arguments: live('north'),
        _meta: { 'io.shoal/idempotencyKey': offered },
      }),
    ]) {
      t.strictSame(outputOf(again), { moved: 'north', ...LIVE })
      t.equal(again._meta?.['io.shoal/idempotencyReplayed'], true)
      t.match(textOf(again), /nothing was done now/)
    }
    t.strictSame(moves, ['north'])

    for (const [more, expected] of [
      [{ ...live('south'), idempotency_key: offered }, /idempotency_key_reuse/],
      [{ idempotency_key: 'two words' }, /visible characters.*idempotency_key/],
      [{ idempotency_key: 7 }, /idempotency_key/],
      [{ arguments: { way, dry_run, idempotency_key: 7 } }, /visible characters/],
      [
        { arguments: { way, dry_run, idempotency_key: 'a' }, idempotency_key: 'b' },
        /two different/,
      ],
    ] as const) {
      const wrong = await callLean(more)
      t.equal(wrong.isError, true)
      t.match(textOf(wrong), expected)
    }
    t.strictSame(moves, ['north'])
    t.strictSame(
      outputOf(await callLean({}, { name: 'test-move', arguments: { way: 'dry' } as never })),
      {
        ...{ moved: 'dry', ...LIVE },
      },
    )
  },
)

t.test('administration is not offered as a tool', async t => {
  const client = await clientOf(t)
  const ask = { name: 'keys-request', arguments: { tier: 'pro' } }
  await t.rejects(client.callTool(ask), /no tool/)
})

t.test('a gated tool waits, is approved by another person, and is carried out once', async t => {
  const client = await clientOf(t)
  const call = { name: 'test-gated', arguments: { stone: 'mcp' } }
  const waits = outputOf(await client.callTool(call))
  t.match(waits, { status: 'pending', request_id: /./ })
  t.notOk(done.includes('mcp'))
  const path = `/v1/gates/requests/${waits.request_id}/approve`
  t.equal((await caller(url, demo.approver_a).json(path, {})).status, 200)
  t.strictSame(outputOf(await client.callTool(call)), { moved: 'mcp', ...LIVE })
  t.equal(done.filter(each => each === 'mcp').length, 1)
})

t.test('a client that can open pages is asked once to open the page of the request', async t => {
  const client = await clientOf(t, { ...MODERN, capabilities: { elicitation: { url: {} } } })
  const asked: AnyJson[] = []
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params)
    return { action: 'accept' }
  })
  const call = { name: 'test-gated', arguments: { stone: 'page' } }
  const waits = outputOf(await client.callTool(call))
  t.equal(waits.status, 'pending', 'what was answered there approves nothing')
  t.equal(asked.length, 1)
  t.equal(asked[0].url, `${PORTAL}/gates/requests/${waits.request_id}`)
  t.notOk(done.includes('page'))
})

t.test('a client with the tasks extension reads the result of a tool from its task', async t => {
  const { client, session, call } = await taskSession(t)
  t.strictSame(client.getServerCapabilities()?.extensions, EXTENSIONS)
  const execution = await session.callTool('test-slow', { steps: 1 })
  release()
  const { outcome, lastTask } = await execution.settle()
  t.match(lastTask, { taskId: /./ })
  t.match(resultFromTaskOutcome(outcome), { structuredContent: { walked: 1 } })
  const quick = await call('tools/call', { name: 'alerts-list', arguments: {} })
  t.equal(quick.result.resultType, 'complete')
})
