import { connect } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { type AnyJson, a2aScene, caller, message } from '../../../support/a2a.ts'
import { testSkills } from '../../../support/a2a-skills.ts'
import { statusAfterWriting } from '../../../support/app.ts'

const { skills, done, release } = testSkills()
const scene = await a2aScene(t, { moreSkills: skills })
t.teardown(release)
const { url, demo } = scene
const { rpc, json, stream } = caller(url, demo.operator)

const call = (skill: string, input: object) => message({ data: { skill, input } })
const send = (body: object, more: object = {}) => rpc('SendMessage', { message: body, ...more })
const stateOf = (answer: AnyJson): string => answer.result.task.status.state
const wordsOf = (task: AnyJson) => task.artifacts[0].parts[0].data.said

t.test('a data part calls a skill, and the output is the artifact of a task', async t => {
  const { result } = await send(call('test-echo', { words: 'hello' }))
  t.match(result.task, {
    status: { state: 'TASK_STATE_COMPLETED' },
    artifacts: [{ name: 'result', parts: [{ data: { said: ['hello'], cell: null } }] }],
    metadata: { skill: 'test-echo' },
  })
  t.strictSame((await rpc('GetTask', { id: result.task.id })).result, result.task)
})

t.test('the address of the card is also accepted with a trailing slash', async t => {
  const headers = {
    authorization: `Bearer ${demo.operator}`,
    'a2a-version': '1.0',
    'content-type': 'application/json',
  }
  const method = 'GetExtendedAgentCard'
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: {} })
  const answer = await fetch(`${url}/a2a/`, { method: 'POST', headers, body })
  t.match(await answer.json(), { id: 1, result: { name: 'shoal' } })
})

t.test('a refused stream before 1.0 is a stream that carries the reason', async t => {
  const headers = { authorization: `Bearer ${demo.operator}`, 'content-type': 'application/json' }
  const ask = (method: string, params: object) =>
    fetch(`${url}/a2a`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
    })
  for (const [method, params] of [
    ['tasks/resubscribe', { id: 'task_gone' }],
    ['message/stream', { message: {} }],
  ] as const) {
    const refused = await ask(method, params)
    t.equal(refused.status, 200)
    t.match(refused.headers.get('content-type'), /^text\/event-stream/)
    t.match(await refused.text(), /^data: \{"jsonrpc":"2.0","id":7,"error":\{.+\}\n\n$/)
  }
  const whole = await ask('tasks/get', { id: 'task_gone' })
  t.match(whole.headers.get('content-type'), /^application\/json/)
})

t.test('every documented form of a call is accepted', async t => {
  const forms: [string, object][] = [
    [
      'metadata.skill with a data part',
      message({ data: { words: 'a' } }, { metadata: { skill: 'test-echo' } }),
    ],
    [
      'skillId with text that is JSON',
      message({ text: '{"words":"a"}' }, { metadata: { skillId: 'test-echo' } }),
    ],
    ['an id and JSON in text', message({ text: 'test-echo {"words": "a"}' })],
    ['the name of a skill that looks, in a sentence with data', message({ text: 'echo chamber' })],
  ]
  for (const [title, body] of forms.slice(0, 3))
    t.strictSame(wordsOf((await send(body)).result.task), ['a'], title)
  t.equal(
    stateOf(await send(forms[3]?.[1] ?? {})),
    'TASK_STATE_INPUT_REQUIRED',
    'words that are not certain',
  )
  const named = await send(message({ text: 'is the open door there?' }))
  t.strictSame(named.result.task.artifacts[0].parts[0].data, {
    open: true,
    data_state: 'live',
    unknown: [],
  })
})

t.test(
  'the cell in the metadata reaches a skill that accepts one, and other skills refuse it',
  async t => {
    const on = await send(
      message(
        { data: { skill: 'test-echo', input: { words: 'a' } } },
        { metadata: { cell: 'c1' } },
      ),
    )
    t.equal(on.result.task.artifacts[0].parts[0].data.cell, 'c1')
    const off = await send(message({ data: { skill: 'test-open' } }, { metadata: { cell: 'c1' } }))
    t.match(off.error, {
      code: -32602,
      data: [{}, { fieldViolations: [{ field: 'metadata.cell' }] }],
    })
  },
)

t.test('a missing input is requested with its schema and taken from the next message', async t => {
  const asked = await send(call('test-echo', { times: 2 }))
  t.equal(stateOf(asked), 'TASK_STATE_INPUT_REQUIRED')
  t.match(asked.result.task.status.message.parts[1].data, {
    input_required: {
      skill: 'test-echo',
      missing: ['words'],
      schema: { type: 'object', properties: { words: { type: 'string' } }, required: ['words'] },
    },
  })
  const taskId = asked.result.task.id
  const wrong = await send(message({ data: { words: 7 } }, { taskId }))
  t.equal(wrong.error.code, -32602)
  const right = await send(message({ text: 'two words' }, { taskId }))
  t.equal(right.result.task.id, taskId)
  t.strictSame(wordsOf(right.result.task), ['two words', 'two words'])
  t.equal(right.result.task.history.length, 3)
  const late = await send(message({ text: 'more' }, { taskId }))
  t.equal(late.error.code, -32004)
})

t.test('a value that only the operation requires is requested too', async t => {
  const asked = await send(call('test-broken', { how: 'needs' }))
  t.equal(stateOf(asked), 'TASK_STATE_INPUT_REQUIRED')
  const then = await send(message({ data: { site: 'here' } }, { taskId: asked.result.task.id }))
  t.equal(stateOf(then), 'TASK_STATE_COMPLETED')
})

t.test('an ambiguous text gets a list of candidate skills; choosing one continues', async t => {
  const asked = await send(message({ text: 'take a walk' }))
  t.equal(stateOf(asked), 'TASK_STATE_INPUT_REQUIRED')
  const { candidates } = asked.result.task.status.message.parts[1].data
  t.ok(candidates.length > 1)
  const taskId = asked.result.task.id
  const then = await send(message({ data: { skill: 'test-open', input: {} } }, { taskId }))
  t.equal(stateOf(then), 'TASK_STATE_COMPLETED')
})

t.test('a skill that acts is never chosen by guessing', async t => {
  const asked = await send(message({ text: 'please do the moving stone' }))
  t.equal(stateOf(asked), 'TASK_STATE_INPUT_REQUIRED')
})

t.test('a failed task ends with its error; internal errors reveal no details', async t => {
  const known = await send(call('test-broken', { how: 'known' }))
  t.equal(stateOf(known), 'TASK_STATE_FAILED')
  t.match(known.result.task.status.message.parts[1].data, { error: { code: 'cell_unavailable' } })
  const unknown = await send(call('test-broken', { how: 'unknown' }))
  t.equal(stateOf(unknown), 'TASK_STATE_FAILED')
  t.notOk(JSON.stringify(unknown).includes('secret'))
  const denied = await send(call('test-broken', { how: 'denied' }))
  t.equal(stateOf(denied), 'TASK_STATE_REJECTED')
})

t.test('a repeated message returns the same task, which runs once', async t => {
  const body = call('test-echo', { words: 'once' })
  const before = done.filter(words => words === 'once').length
  const [first, second] = await Promise.all([send(body), send(body)])
  const third = await send(body)
  t.equal(first.result.task.id, second.result.task.id)
  t.equal(first.result.task.id, third.result.task.id)
  t.equal(done.filter(words => words === 'once').length, before + 1)
  const other = await send({ ...body, parts: [{ data: { skill: 'test-open' } }] })
  t.match(other.error, { code: -32602, message: /messageId/ })
})

t.test('a message id used by another key is a different message', async t => {
  const body = call('test-echo', { words: 'mine' })
  const mine = await send(body)
  const theirs = await caller(url, demo.pro).rpc('SendMessage', { message: body })
  t.not(theirs.result.task.id, mine.result.task.id)
})

t.test('a stream reports every state; a later stream begins with the task', async t => {
  const begun = await send(call('test-slow', { steps: 3 }), {
    configuration: { returnImmediately: true },
  })
  const { id } = begun.result.task
  const all: AnyJson[] = []
  for await (const { result } of stream('SubscribeToTask', { id })) {
    all.push(result)
    if (all.length === 1) await rpc('CancelTask', { id })
  }
  t.equal(all[0].task.id, id)
  t.equal(all.at(-1).statusUpdate.status.state, 'TASK_STATE_CANCELED')
  t.equal(done.at(-1), 'stopped', 'the work was told to stop')
  const after = await rpc('SubscribeToTask', { id })
  t.equal(after.error.code, -32004)
  const twice = await rpc('CancelTask', { id })
  t.equal(twice.result.status.state, 'TASK_STATE_CANCELED')
})

t.test('a streamed call runs its skill once', async t => {
  t.ok((await send(call('test-echo', { words: 'sent' }))).result.task)
  for await (const { result } of stream('SendStreamingMessage', {
    message: call('test-echo', { words: 'streamed' }),
  }))
    t.ok(result)
  t.equal(done.filter(words => words === 'sent').length, 1)
  t.equal(done.filter(words => words === 'streamed').length, 1)
})

t.test('progress is reported while a skill runs, and is not part of the history', async t => {
  const told: AnyJson[] = []
  for await (const { result } of stream('SendStreamingMessage', { message: call('test-talk', {}) }))
    told.push(result)
  const progress = told.flatMap(({ statusUpdate }) => statusUpdate?.status.message?.parts ?? [])
  t.match(progress, [{ data: { progress: { done: 1, total: 2, message: 'half' } } }])
  const { result } = await rpc('GetTask', { id: told[0].task.id })
  t.equal(result.history.length, 1)
})

t.test('tasks are listed newest first, by state and conversation, in pages', async t => {
  const contextId = 'a-conversation'
  for (const words of ['1', '2', '3']) await send({ ...call('test-echo', { words }), contextId })
  const first = (await rpc('ListTasks', { contextId, pageSize: 2, historyLength: 0 })).result
  t.equal(first.totalSize, 3)
  t.strictSame(
    first.tasks.map((task: AnyJson) => 'history' in task),
    [false, false],
  )
  const second = (
    await rpc('ListTasks', { contextId, pageSize: 2, pageToken: first.nextPageToken })
  ).result
  t.equal(second.tasks.length, 1)
  t.equal(second.nextPageToken, '')
  const ids = [...first.tasks, ...second.tasks].map((task: AnyJson) => task.id)
  t.equal(new Set(ids).size, 3)
  const none = (await rpc('ListTasks', { contextId, status: 'TASK_STATE_FAILED' })).result
  t.strictSame(none.tasks, [])
  for (const wrong of [
    { pageSize: 0 },
    { pageSize: 101 },
    { historyLength: -1 },
    { pageToken: 'x' },
  ])
    t.equal((await rpc('ListTasks', wrong)).error.code, -32602, JSON.stringify(wrong))
})

t.test('a task of another tenant is indistinguishable from an unknown task', async t => {
  const { result } = await send(call('test-echo', { words: 'private' }))
  const stranger = caller(url, demo.stranger)
  for (const [method, params] of [
    ['GetTask', {}],
    ['CancelTask', {}],
    ['SubscribeToTask', {}],
  ] as const) {
    const theirs = await stranger.rpc(method, { ...params, id: result.task.id })
    const none = await stranger.rpc(method, { ...params, id: 'task_none' })
    const words = JSON.stringify(theirs.error).replaceAll(result.task.id, 'task_none')
    t.equal(words, JSON.stringify(none.error), method)
    t.equal(theirs.error.code, -32001)
  }
  const into = await stranger.rpc('SendMessage', {
    message: { ...call('test-open', {}), taskId: result.task.id },
  })
  t.equal(into.error.code, -32001)
  t.strictSame((await stranger.rpc('ListTasks', {})).result.tasks, [])
  const asked = await stranger.json('/a2a', {
    jsonrpc: '2.0',
    id: 1,
    method: 'ListTasks',
    params: { tenant: 'demo' },
  })
  t.equal(asked.status, 403)
})

t.test('an invalid key is refused on both bindings before the call is looked at', async t => {
  const bad = caller(url, 'svc-dev-nobodys')
  const refused = { status: 401, json: { error: { message: 'the key is not valid' } } }
  for (const params of [{ message: call('test-open', {}) }, {}, 'wrong']) {
    const asked = { jsonrpc: '2.0', id: 7, method: 'SendMessage', params }
    t.match(await bad.json('/', asked), refused)
    t.match((await bad.json('/', asked)).json, { id: 7, error: { code: -32081 } })
  }
  t.match(await bad.json('/', { jsonrpc: '2.0', id: 7, method: 'Unknown' }), refused)
  t.match(await bad.json('/a2a/rest/message:send', {}), refused)
  t.match(await bad.json('/a2a/rest/unknown', {}), refused)
})

t.test('a call without a key reaches only the open skills', async t => {
  const nobody = caller(url, undefined)
  const open = await nobody.rpc('SendMessage', { message: call('test-open', {}) })
  t.equal(stateOf(open), 'TASK_STATE_COMPLETED')
  const asked = {
    jsonrpc: '2.0',
    id: 7,
    method: 'SendMessage',
    params: { message: call('test-echo', { words: 'a' }) },
  }
  const closed = await nobody.json('/', asked)
  t.equal(closed.status, 401)
  t.match(closed.headers.get('www-authenticate'), /Bearer/)
  t.match(closed.json, { jsonrpc: '2.0', id: 7, error: { code: -32081 } })
  t.equal((await nobody.rpc('GetTask', { id: open.result.task.id })).error.code, -32081)
  const low = await caller(url, demo.pro).json('/a2a', {
    jsonrpc: '2.0',
    id: 1,
    method: 'SendMessage',
    params: { message: call('test-gated', { stone: 'a' }) },
  })
  t.equal(low.status, 403)
})

t.test('errors of the envelope have JSON-RPC codes', async t => {
  const cases: [unknown, number, number][] = [
    ['{"jsonrpc": "2.0", "id"', -32700, 400],
    [[{ jsonrpc: '2.0', id: 1, method: 'GetTask' }], -32600, 200],
    [{ id: 1, method: 'GetTask', params: {} }, -32600, 200],
    [{ jsonrpc: '2.0', id: 1.5, method: 'GetTask', params: {} }, -32600, 200],
    [{ jsonrpc: '2.0', id: 1, params: {} }, -32600, 200],
    [{ jsonrpc: '2.0', id: 1, method: 'Nothing', params: {} }, -32601, 200],
    [{ jsonrpc: '2.0', id: 1, method: 'GetTask', params: [] }, -32602, 200],
    [{ jsonrpc: '2.0', id: 1, method: 'GetTask', params: {} }, -32602, 200],
    [{ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: {} }, -32602, 200],
    [{ jsonrpc: '2.0', id: 1, method: 'message/send', params: { message: {} } }, -32602, 200],
    [{ jsonrpc: '2.0', id: 1, method: 'message/send', params: { message: null } }, -32602, 200],
    [`${'['.repeat(40)}${']'.repeat(40)}`, -32600, 200],
  ]
  for (const path of ['/', '/a2a'])
    for (const [body, code, status] of cases) {
      const answer = await json(path, body)
      t.equal(answer.json.error.code, code, JSON.stringify(body))
      t.equal(answer.status, status, JSON.stringify(body))
      t.equal(answer.json.jsonrpc, '2.0')
      t.ok(answer.headers.get('x-ratelimit-limit'), 'it has the headers of every answer')
      t.ok(answer.headers.get('x-request-id'))
    }
  const text = await caller(url, demo.operator, { 'content-type': 'text/plain' }).json(
    '/a2a',
    'hello',
  )
  t.strictSame([text.status, text.json.error.code], [400, -32005])
  const big = await json(
    '/a2a',
    JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x'.repeat(300_000) }),
  )
  t.strictSame([big.status, big.json.error.code], [413, -32600])
  const head = ['POST /a2a HTTP/1.1', 'host: localhost', 'content-type: application/json']
  t.match(await statusAfterWriting(connect(Number(new URL(url).port)), head), /413/)
  const wrong = await json('/a2a', { jsonrpc: '2.0', id: 4, method: 5, params: {} })
  t.match(wrong.json, { id: 4, error: { code: -32600, message: 'method must be a string' } })
})

t.test('an unsupported version is refused; a later patch of a supported one is not', async t => {
  const ask = (version: string) =>
    caller(url, demo.operator, { 'a2a-version': version }).rpc('ListTasks', {})
  t.equal((await ask('2.0')).error.code, -32009)
  t.ok((await ask('1.0.1')).result)
})

t.test('an unknown skill and a wrong value are reported in machine-readable form', async t => {
  const unknown = await send(call('no-such-skill', {}))
  t.match(unknown.error, { code: -32602, data: [{ reason: 'SKILL_NOT_FOUND', domain: 'shoal' }] })
  const wrong = await send(call('test-echo', { words: 'a', times: 9 }))
  t.match(wrong.error, {
    code: -32602,
    data: [{ reason: 'INVALID_INPUT' }, { fieldViolations: [{ field: 'times' }] }],
  })
  const file = await send(message({ raw: 'aGk=', mediaType: 'image/png' }))
  t.equal(file.error.code, -32005)
})

t.test('the task carries its state history when the extension is requested', async t => {
  const uri = 'urn:shoal:a2a:state-transitions:v1'
  const asking = caller(url, demo.operator, { 'a2a-extensions': `other, ${uri}` })
  const { result } = await send(call('test-echo', { words: 'a' }))
  const { json: found, headers } = await asking.json('/a2a', {
    jsonrpc: '2.0',
    id: 1,
    method: 'GetTask',
    params: { id: result.task.id },
  })
  t.equal(headers.get('a2a-extensions'), uri)
  const { transitions } = found.result.metadata[uri]
  t.strictSame(
    transitions.map(({ from, to }: AnyJson) => [from, to]),
    [
      [null, 'submitted'],
      ['submitted', 'working'],
      ['working', 'completed'],
    ],
  )
  const listed = (await asking.rpc('ListTasks', { pageSize: 100 })).result.tasks
  for (const { metadata } of listed) t.equal(metadata[uri].transitions[0].from, null)
  const mine = listed.find(({ id }: AnyJson) => id === result.task.id)
  t.strictSame(mine.metadata[uri].transitions, transitions)
  const plain = (await rpc('ListTasks', {})).result.tasks
  t.notOk(JSON.stringify(plain).includes(uri), 'a list has it only when it is asked for')
  const older = await rpc('tasks/get', { id: result.task.id })
  t.ok(older.result.metadata[uri], 'before 1.0 it is always there')
})

t.test('the extended card lists the skills that the key may call', async t => {
  const mine = await rpc('GetExtendedAgentCard', {})
  const theirs = await caller(url, demo.pro).rpc('GetExtendedAgentCard', {})
  const ids = (card: AnyJson) => card.result.skills.map(({ id }: AnyJson) => id)
  t.ok(ids(mine).includes('test-gated'))
  t.notOk(ids(theirs).includes('test-gated'))
  t.ok(ids(theirs).includes('test-echo'))
  const older = await rpc('agent/getAuthenticatedExtendedCard', {})
  t.equal(older.result.name, 'shoal')
})

t.test('a caller without a key cannot register a webhook', async t => {
  const none = caller(url, undefined)
  const configuration = { taskPushNotificationConfig: { url: 'https://hooks.acme-corp.com/x' } }
  const asked = message({ data: { skill: 'test-open', input: {} } })
  const { error } = await none.rpc('SendMessage', { message: asked, configuration })
  t.equal(error?.message, 'a hook needs a key')
})

t.test('a call without params ends in an internal error', async () => {
  const methods = fc.constantFrom(
    ...['SendMessage', 'GetTask', 'ListTasks', 'CancelTask', 'SubscribeToTask'],
    ...['message/send', 'tasks/get', 'tasks/cancel', 'tasks/pushNotificationConfig/set'],
  )
  const part = fc.record({ text: fc.jsonValue() }, { requiredKeys: [] })
  const body = fc.record(
    {
      messageId: fc.jsonValue(),
      role: fc.jsonValue(),
      parts: fc.array(part),
      metadata: fc.jsonValue(),
    },
    { requiredKeys: [] },
  )
  const params = fc.oneof(fc.jsonValue(), fc.record({ message: body, id: fc.jsonValue() }))
  // a key of its own: the minute of one would be over soon
  const authorization = `Bearer ${demo.approver_a}`
  await fc.assert(
    fc.asyncProperty(methods, params, async (method, given) => {
      const answer = await scene.app.inject({
        method: 'POST',
        url: '/a2a',
        headers: { authorization, 'content-type': 'application/json' },
        payload: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: given }),
      })
      return answer.statusCode < 500 && answer.json().error?.code !== -32603
    }),
    { numRuns: 250 },
  )
})

t.test('a rate-limited call is refused with the time to wait', async t => {
  const often = caller(url, demo.free)
  const body = { jsonrpc: '2.0', id: 1, method: 'ListTasks', params: {} }
  let answer = await often.json('/a2a', body)
  for (let at = 0; at < 70 && answer.status === 200; at++) answer = await often.json('/a2a', body)
  t.equal(answer.status, 429)
  t.equal(answer.json.error.code, -32089)
  t.ok(Number(answer.headers.get('retry-after')) > 0)
  t.equal((await often.json('/v1/tasks')).status, 429, 'it is one count for all surfaces')
})
