import t, { type Test } from 'tap'
import * as z from 'zod'
import { defineSkill } from '../../../../coordinator/kernel/declaration/skill.ts'
import type { AskModel } from '../../../../coordinator/surfaces/http/ask-model.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import type { TestConversationOptions } from '../../../support/conversing.ts'
import { governanceScene } from '../../../support/governance.ts'

const usage = (total: number) => ({
  prompt_tokens: total - 1,
  completion_tokens: 1,
  total_tokens: total,
})

/** Models that say what a test lets them say. */
const createScriptedModel =
  (lines: Record<string, string>, tokens = 10): AskModel =>
  async ({ body, delta }) => {
    const text = lines[body.model] ?? 'nothing'
    delta(text)
    return { text, usage: usage(tokens) }
  }

const skillOf = (id: string, effect: 'read' | 'write', ran: unknown[] = []) =>
  defineSkill({
    group: 'fleet',
    id,
    effect,
    name: id.replaceAll('-', ' '),
    tags: ['test'],
    description: 'Count the lamps of the light house.',
    access: id.startsWith('secret') ? 'operator' : 'key',
    input: z.strictObject({ lamps: z.int().default(7) }),
    output: z.object({ lamps: z.int() }),
    run: ({ lamps }) => {
      ran.push(lamps)
      return { lamps }
    },
  })

const MODELS = [
  { id: 'model-a:7b', type: 'model' },
  { id: 'model-b:3b', type: 'model' },
]

const scene = async (t: Test, conversing: TestConversationOptions = {}) => {
  const { demo, call, store, events } = await governanceScene(t, { conversing })
  const begin = async (body: object, key = demo.pro) =>
    call(key, 'POST', '/a2a/conversations', body)
  const made = async (participants: object[], more: object = {}) =>
    (await begin({ participants, ...more })).json.id as string
  const say = (id: string, content: string, key = demo.pro, headers = {}) =>
    call(key, 'POST', `/a2a/conversations/${id}/message`, { content }, headers)
  const show = async (id: string, query = '', key = demo.pro) =>
    (await call(key, 'GET', `/a2a/conversations/${id}${query}`)).json
  return { demo, call, store, events, begin, made, say, show }
}

t.test('a conversation is created, found and shown', async t => {
  const { demo, call, begin, say, show } = await scene(t)
  const body = { action: 'create', title: 'Night', participants: [{ id: 'ada', type: 'person' }] }
  const made = await begin(body)
  t.match(made, {
    status: 201,
    json: {
      id: /^conv_/,
      title: 'Night',
      participants: [{ id: 'ada', type: 'person' }],
      auto_route: false,
      messages: [],
      created_at: /Z$/,
    },
  })
  const { id } = made.json
  const sent = await say(id, '@ada are you there?')
  t.match(sent, { status: 201, json: { message: { state: 'done', reason: null }, replies: [] } })
  t.match(await show(id), { message_count: 1, messages: [{ content: '@ada are you there?' }] })
  const listed = await call(demo.enterprise, 'GET', '/a2a/conversations')
  t.match(listed, { status: 200, json: { conversations: [{ id }], next: null } })
})

t.test('lists and messages are paged without gaps or duplicates', async t => {
  const { demo, call, made, say, show } = await scene(t)
  const ids: string[] = []
  for (let n = 0; n < 5; n++) ids.unshift(await made([{ id: 'ada', type: 'person' }]))
  const found: string[] = []
  for (let next: string | null = ''; next !== null; ) {
    const query: string = next === '' ? '' : `&before=${next}`
    const { json } = await call(demo.pro, 'GET', `/a2a/conversations?limit=2${query}`)
    found.push(...json.conversations.map((each: { id: string }) => each.id))
    next = json.next
  }
  t.strictSame(found, ids)
  const [id = ''] = ids
  for (let n = 1; n <= 5; n++) await say(id, `number ${n}`)
  const newest = await show(id, '?limit=2')
  const older = await show(id, `?limit=3&before=${newest.next}`)
  const texts = [...older.messages, ...newest.messages].map(({ content }) => content)
  t.strictSame(texts, ['number 1', 'number 2', 'number 3', 'number 4', 'number 5'])
  t.equal(older.next, null)
})

t.test('a named participant answers with the previous messages in mind', async t => {
  const asked: unknown[] = []
  const { made, say, show } = await scene(t, {
    askModel: async question => {
      asked.push(question.body.messages.at(-1)?.content)
      return { text: `from ${question.body.model}`, usage: usage(10) }
    },
  })
  const id = await made(MODELS)
  t.strictSame((await say(id, 'remember the lamp')).json.replies, [])
  const { json, status } = await say(id, '@model-b:3b and @model-a:7b, what?')
  t.equal(status, 201)
  t.match(json, {
    conversation_id: id,
    message: { state: 'done' },
    replies: [
      { from: 'model-b:3b', content: 'from model-b:3b', in_reply_to: json.message.id },
      { from: 'model-a:7b', content: 'from model-a:7b', in_reply_to: json.message.id },
    ],
  })
  t.match(asked[0], 'remember the lamp')
  t.match(asked[1], '> from model-b:3b')
  t.match(await show(id), { message_count: 4, tokens: 20 })
})

t.test('a call with an Idempotency-Key is answered once', async t => {
  let count = 0
  const { made, say, show } = await scene(t, {
    askModel: async () => ({ text: `answer ${++count}`, usage: usage(1) }),
  })
  const id = await made(MODELS)
  const once = () => say(id, '@model-a:7b hi', undefined, { 'idempotency-key': 'k' })
  const [first, again] = [await once(), await once()]
  t.match(again, { status: 201, headers: { 'idempotency-replayed': 'true' } })
  t.strictSame(again.json, first.json)
  t.equal((await show(id)).message_count, 2)
})

t.test('two participants that hand over to each other stop at the limit', async t => {
  const { made, say } = await scene(t, {
    askModel: createScriptedModel({
      'model-a:7b': 'ask @model-b:3b',
      'model-b:3b': 'no, @model-a:7b',
    }),
  })
  const routed = await made(MODELS, { auto_route: true })
  const { replies } = (await say(routed, 'who knows?')).json
  t.strictSame(
    replies.map(({ from }: { from: string }) => from),
    ['model-a:7b', 'model-b:3b', 'model-a:7b', 'model-b:3b', 'system'],
  )
  t.match(replies[4], { state: 'failed', content: /after 4 turns/ })
  const plain = await made(MODELS)
  t.equal((await say(plain, '@model-a:7b who knows?')).json.replies.length, 1, 'nobody hands on')
})

t.test('a skill runs with the JSON after its name, and invalid input is reported', async t => {
  const ran: unknown[] = []
  const { made, say } = await scene(t, { moreSkills: [skillOf('lamp-count', 'write', ran)] })
  const id = await made([{ id: 'lamp-count', type: 'skill' }])
  t.match((await say(id, 'now @lamp-count {"lamps": 3} please')).json, {
    replies: [{ from: 'lamp-count', content: /^{"lamps":3,/, state: 'done' }],
  })
  t.match((await say(id, '@lamp-count {"lamps": "x"}')).json, {
    message: { state: 'failed', reason: /^invalid_request: lamps/ },
    replies: [{ from: 'system', state: 'failed', content: /@lamp-count did not answer/ }],
  })
  t.match((await say(id, '@lamp-count {"lamps"')).json, { message: { state: 'failed' } })
  t.strictSame(ran, [3])
})

t.test(
  'a model may use a skill to look something up, but never one that changes anything',
  async t => {
    const ran: unknown[] = []
    const { made, say } = await scene(t, {
      moreSkills: [skillOf('lamp-count', 'read', ran), skillOf('lamp-set', 'write', ran)],
      askModel: createScriptedModel({
        'model-a:7b': '@lamp-count {"lamps": 1} then @lamp-set {"lamps": 2}',
      }),
    })
    const skills = ['lamp-count', 'lamp-set'].map(id => ({ id, type: 'skill' }))
    const id = await made([...MODELS, ...skills], { auto_route: true })
    const { replies } = (await say(id, 'go')).json
    t.match(replies, [
      { from: 'model-a:7b' },
      { from: 'system', content: /@lamp-set was not run/ },
      { from: 'lamp-count', content: /^{"lamps":1,/ },
    ])
    t.strictSame(ran, [1])
    t.match((await say(id, 'count the lamps of the light house')).json.replies, [
      { from: 'lamp-count', content: /^{"lamps":7,/ },
    ])
  },
)

t.test('an action that needs approval is reported and not carried out', async t => {
  const { demo, begin, say } = await scene(t, {
    moreSkills: [],
    askModel: createScriptedModel({}),
  })
  const participants = [{ id: 'hitl-gate', type: 'skill' }]
  const { json } = await begin({ participants }, demo.operator)
  const sent = await say(
    json.id,
    '@hitl-gate {"gate_id":"gate.production-deploy","evidence":"{}"}',
    demo.operator,
  )
  t.equal(sent.json.replies[0].from, 'hitl-gate')
  t.match(sent.json.replies[0].content, /pending/)
})

t.test('a skill whose answer says that it has failed fails the message', async t => {
  const success = { field: 'lamps', codes: { 7: 69, '*': 0 } }
  const { begin, say } = await scene(t, {
    moreSkills: [{ ...skillOf('lamp-count', 'read'), success }],
  })
  const { json } = await begin({ participants: [{ id: 'lamp-count', type: 'skill' }] })
  const sent = (await say(json.id, '@lamp-count')).json
  const failure = { state: 'failed', reason: 'lamp-count is 7' }
  t.match(sent, { message: failure, replies: [{ ...failure, content: /^{"lamps":7,/ }] })
  const good = (await say(json.id, '@lamp-count {"lamps": 2}')).json
  t.match(good, { message: { state: 'done' }, replies: [{ state: 'done' }] })
})

t.test('skill output meant for operators does not reach other keys of the tenant', async t => {
  const { demo, call, begin, say, show } = await scene(t, {
    moreSkills: [skillOf('secret-count', 'read')],
  })
  const participants = [{ id: 'secret-count', type: 'skill' }]
  t.match(await begin({ participants }), { status: 403, json: { error: { code: 'forbidden' } } })
  const { json } = await begin({ participants }, demo.operator)
  t.equal((await say(json.id, '@secret-count', demo.operator)).json.replies.length, 1)
  t.equal((await show(json.id)).error.code, 'forbidden')
  t.equal((await say(json.id, 'hi')).status, 403)
  t.strictSame((await call(demo.pro, 'GET', '/a2a/conversations')).json.conversations, [])
  t.equal((await show(json.id, '', demo.operator)).message_count, 2)
})

t.test('an ineligible participant is refused when the conversation is created', async t => {
  const { begin } = await scene(t, { settings: { max_participants: 3 } })
  const person = { id: 'ada', type: 'person' }
  for (const [participants, code] of [
    [[{ id: 'model-z', type: 'model' }], 'model_not_found'],
    [[{ id: 'model-e:70b', type: 'model' }], 'invalid_model'],
    [[{ id: 'embed-a', type: 'model' }], 'invalid_model'],
    [[{ id: 'nothing', type: 'skill' }], 'invalid_request'],
    [[{ id: 'multi-agent-conversation', type: 'skill' }], 'invalid_request'],
    [[{ id: 'far', type: 'agent' }], 'invalid_request'],
    [[{ ...person, url: 'https://agents.acme-corp.com/' }], 'invalid_request'],
    [[person, { ...person, id: 'ADA' }], 'invalid_request'],
    [[{ ...person, id: 'system' }], 'invalid_request'],
    [[{ ...person, id: 'a b' }], 'invalid_request'],
    [[{ ...person, type: 'robot' }], 'invalid_request'],
    [[], 'invalid_request'],
    [[1, 2, 3, 4].map(n => ({ ...person, id: `p${n}` })), 'invalid_request'],
  ] as const) {
    const { status, json } = await begin({ participants })
    const expected = code === 'model_not_found' ? 404 : 422
    t.match([status, json.error?.code], [expected, code], JSON.stringify(participants))
  }
  t.equal((await begin({ participants: [{ id: 'auto', type: 'model' }] })).status, 201)
})

t.test('an error about a participant names the participant', async t => {
  const { begin } = await scene(t)
  for (const [wrong, param, message] of [
    [{ id: 'fast', type: 'model' }, 'participants.1.id', /v1\/models.*is the id of that model/],
    [{ id: 'nothing', type: 'skill' }, 'participants.1.id', /no skill nothing/],
    [{ id: 'far', type: 'agent' }, 'participants.1.url', /url of its agent card/],
  ] as const) {
    const { json } = await begin({ participants: [{ id: 'ada', type: 'person' }, wrong] })
    t.match(json.error, { param, message }, wrong.type)
  }
})

t.test('a message that cannot be answered is refused before it is stored', async t => {
  for (const [what, conversing, code, status] of [
    ['a model that nobody serves', { serves: () => false }, 'cell_unavailable', 503],
    ['no request left this minute', { standing: { burst: 0 } }, 'rate_limited', 429],
    ['no request left this month', { standing: { remaining: 0 } }, 'tier_exceeded', 403],
    ['a coordinator that stops', { draining: () => true }, 'draining', 503],
    ['too long a text', { settings: { max_content_chars: 5 } }, 'invalid_request', 422],
  ] as const) {
    const { made, say, show } = await scene(t, { askModel: createScriptedModel({}), ...conversing })
    const id = await made(MODELS)
    const { status: got, json, headers } = await say(id, '@model-a:7b hi')
    t.match([got, json.error?.code], [status, code], what)
    if ([429, 503].includes(status)) t.match(headers['retry-after'], /^\d+$/, what)
    t.equal((await show(id)).message_count, 0, what)
  }
})

t.test('a full conversation accepts no more messages', async t => {
  const short = await scene(t, { settings: { max_messages: 2, max_per_tenant: 1 } })
  const id = await short.made([{ id: 'ada', type: 'person' }])
  t.match(await short.begin({ participants: MODELS }), { json: { error: { code: 'conflict' } } })
  t.equal((await short.say(id, 'one')).status, 201)
  t.equal((await short.say(id, 'two')).status, 201)
  t.match(await short.say(id, 'three'), { status: 409, json: { error: { code: 'conflict' } } })

  const limits = { max_cost_eur: 0.01, eur_per_million_tokens: 1000 }
  const dear = await scene(t, {
    askModel: createScriptedModel({ 'model-a:7b': '@model-b:3b go on' }, 10),
    settings: limits,
  })
  const other = await dear.made(MODELS, { auto_route: true })
  const { replies } = (await dear.say(other, 'begin')).json
  t.match(replies, [{ from: 'model-a:7b' }, { from: 'system', content: /used its 10 tokens/ }])
  t.match(await dear.say(other, 'more'), { status: 409 })
  t.equal((await dear.say(other, '@ada nobody')).status, 409, 'a model would be asked')
})

t.test('a model that fails leaves a message that says why', async t => {
  const { made, say, show } = await scene(t, {
    askModel: async ({ body }) => {
      if (body.model === 'model-a:7b') throw new ShoalError('cell_unavailable', 'it stopped')
      return { text: 'fine', usage: undefined }
    },
  })
  const id = await made(MODELS)
  t.match((await say(id, '@model-a:7b hi')).json, {
    message: { state: 'failed', reason: 'cell_unavailable: it stopped' },
    replies: [{ from: 'system', state: 'failed' }],
  })
  const both = (await say(id, '@model-a:7b and @model-b:3b')).json
  t.match(both.message, { state: 'done', reason: null })
  t.match(both.replies, [{ from: 'system' }, { from: 'model-b:3b', content: 'fine' }])
  t.ok((await show(id)).tokens > 0, 'what could not be counted is estimated')
})

t.test('a text that is too long for a model is shortened to fit', async t => {
  const lengths: number[] = []
  const { made, say } = await scene(t, {
    askModel: async ({ body }) => {
      const chars = body.messages.reduce((sum, { content }) => sum + (content?.length ?? 0), 0)
      lengths.push(chars)
      if (chars > 2000) throw new ShoalError('context_length_exceeded', 'too long')
      return { text: 'fits', usage: usage(1) }
    },
  })
  const id = await made(MODELS)
  for (let n = 0; n < 8; n++) await say(id, `${n} ${'word '.repeat(150)}`)
  const { replies } = (await say(id, '@model-a:7b short?')).json
  t.equal(replies[0].content, 'fits')
  t.ok(lengths.length > 1)
})

t.test(
  'a stream delivers each message as it is created, and a refusal is an ordinary answer',
  async t => {
    const { demo, call, made, say } = await scene(t, {
      askModel: createScriptedModel({ 'model-a:7b': 'hello' }),
    })
    const id = await made(MODELS)
    const events = { accept: 'text/event-stream' }
    const sent = await say(id, '@model-a:7b hi', undefined, events)
    t.match(sent, { status: 200, headers: { 'content-type': /^text\/event-stream/ } })
    const told = (sent.json as string)
      .split('\n\n')
      .filter(Boolean)
      .map(event => /^event: (\w+)\ndata: (.*)$/s.exec(event)?.slice(1) ?? [])
      .map(([name, data = '{}']) => [name, JSON.parse(data)])
    t.match(told, [
      ['message', { content: '@model-a:7b hi', state: 'answering' }],
      ['delta', { from: 'model-a:7b', delta: 'hello' }],
      ['message', { from: 'model-a:7b', content: 'hello', state: 'done' }],
      ['result', { message: { state: 'done' }, replies: [{ content: 'hello' }] }],
    ])
    t.equal(told.length, 4)
    const nothing = await call(
      demo.pro,
      'POST',
      '/a2a/conversations/conv_0/message',
      { content: 'x' },
      events,
    )
    t.match(nothing, { status: 404, json: { error: { code: 'not_found' } } })
  },
)

t.test('the skill behaves like the routes', async t => {
  const { demo, call, show } = await scene(t, {
    askModel: createScriptedModel({ 'model-a:7b': 'hello' }),
  })
  const skill = (input: object) =>
    call(demo.pro, 'POST', '/v1/skills/multi-agent-conversation', input)
  const made = await skill({ action: 'create', title: 'Talk', participants: MODELS })
  t.match(made, { status: 200, json: { action: 'create', conversation: { title: 'Talk' } } })
  const conversation_id = made.json.conversation.id
  const sent = await skill({ action: 'message', conversation_id, content: 'hi', auto_route: true })
  t.match(sent.json, { action: 'message', replies: [{ from: 'model-a:7b', content: 'hello' }] })
  const got = await skill({ action: 'get', conversation_id })
  t.strictSame(got.json.conversation, await show(conversation_id))
  t.match((await skill({ action: 'list' })).json, { conversations: [{ id: conversation_id }] })
  for (const [input, param] of [
    [{ action: 'create' }, 'participants'],
    [{ action: 'message', content: 'x' }, 'conversation_id'],
    [{ action: 'message', conversation_id }, 'content'],
    [{ action: 'get' }, 'conversation_id'],
    [{ action: 'end' }, 'action'],
  ] as const)
    t.match(await skill(input), { status: 422, json: { error: { param } } })
})

t.test('an event tells the tenant about a new message, without its content', async t => {
  const { made, say, events } = await scene(t)
  const id = await made([{ id: 'ada', type: 'person' }])
  const { message } = (await say(id, 'a secret word')).json
  const told = events.filter(({ type }) => type.startsWith('shoal.conversation.'))
  const data = { tenant_id: 'demo', conversation_id: id, message_id: message.id, state: 'done' }
  t.match(told, [{ type: 'shoal.conversation.message', data }])
  t.notMatch(JSON.stringify(told), 'secret')
})
