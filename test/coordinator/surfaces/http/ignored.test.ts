import t from 'tap'
import { HEADER_IGNORED } from '../../../../shared/wire/ignored.ts'
import { config, keyOfTier } from '../../../support/app.ts'
import { endWithUsage, USAGE } from '../../../support/cell.ts'
import { rig } from '../../../support/front-rig.ts'

const chat = { model: 'model-a:7b', messages: [{ role: 'user', content: 'hi' }] }
const responses = { model: 'model-a:7b', input: 'hi' }
const named = (name: string) => ({ name, parameters: { type: 'object', properties: {} } })
const look = { type: 'function', function: named('look') }
const rank = { model: 'ranks', query: 'q', documents: ['a', 'b'] }
const text = (value: string) => [{ type: 'input_text', text: value }]

/** A function of Codex, beside the two kinds of tools of which it has one each. */
const CODEX_TOOLS = [
  { type: 'namespace', name: 'helpers', description: 'd', tools: [{ type: 'function' }] },
  { type: 'function', ...named('exec_command'), description: 'Runs.', strict: false },
  { type: 'web_search', external_web_access: false },
]
const CODEX = {
  model: 'model-a:7b',
  instructions: 'Be brief.',
  stream: false,
  input: [
    { type: 'message', id: 'msg_1', role: 'developer', content: text('a') },
    { type: 'message', id: 'msg_2', role: 'user', content: text('say hello') },
    {
      type: 'function_call',
      status: 'completed',
      id: 'fc_1',
      name: 'exec_command',
      arguments: '{"cmd":"echo hi"}',
      call_id: 'call_1',
    },
    { type: 'function_call_output', id: 'fco_1', call_id: 'call_1', output: 'hi\n' },
  ],
  tools: CODEX_TOOLS,
  tool_choice: 'auto',
  parallel_tool_calls: true,
  reasoning: { summary: 'auto' },
  store: false,
  include: ['reasoning.encrypted_content'],
  prompt_cache_key: 'c',
  client_metadata: { session_id: 's' },
}
const AGENTS = {
  ...chat,
  messages: [
    { role: 'user', content: 'What is a cell?' },
    {
      role: 'assistant',
      content: [{ type: 'text', text: 'A machine.', role: 'assistant', refusal: null }],
    },
    { role: 'user', content: 'What is a gate?' },
  ],
}
const OLLAMA = { ...chat, temperature: 0, max_output_tokens: 48, think: false, stream: false }
const STOPS = ['<|a|>', '<|b|>', '<|c|>', '<|d|>', '\n\n', '\r\n']

/** The real front before a cell that notes what it gets and answers with nothing in it. */
const start = (t: Parameters<typeof rig>[0], strict = false) => {
  const kinds = { id: 'ranks', kind: 'rerank', minimum_tier: 'pro', weights: 'r.gguf' }
  const catalogue = [...config().catalogue, { ...kinds, context_length: 512 }]
  return rig(
    t,
    (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const choices = [{ index: 0, message: { content: '' }, finish_reason: 'stop', text: '' }]
      response.write(JSON.stringify({ model: 'model-a:7b', choices, usage: USAGE }))
      endWithUsage(response)
    },
    {
      config: config({ catalogue }),
      keys: {
        authenticate: () => ({ ...keyOfTier('pro'), strict }),
        hold: () => () => {},
      },
    },
  )
}

t.test('what a client sends and nobody reads is left out, and named in a header', async t => {
  const { post, seen } = await start(t)
  for (const [title, path, body, ignored, sent] of [
    [
      'Codex',
      '/v1/responses',
      CODEX,
      'tools.namespace,tools.web_search,client_metadata',
      { tools: [CODEX_TOOLS[1]], input: CODEX.input, prompt_cache_key: 'c' },
    ],
    [
      'the second turn of @openai/agents',
      '/v1/chat/completions',
      AGENTS,
      'messages.content.role,messages.content.refusal',
      { messages: [AGENTS.messages[0], {}, AGENTS.messages[2]] },
    ],
    [
      'ollama-ai-provider-v2',
      '/api/chat',
      { ...OLLAMA, tools: [look], tool_choice: 'auto', options: { num_ctx: 8, mirostat: 2 } },
      'temperature,max_output_tokens,tool_choice,options.num_ctx,options.mirostat',
      { tools: [look], messages: chat.messages },
    ],
    [
      "Continue's stops",
      '/v1/completions',
      { model: 'model-a:7b', prompt: 'a', stop: STOPS },
      null,
      { stop: STOPS },
    ],
    [
      'vLLM',
      '/v1/chat/completions',
      {
        ...chat,
        top_k: -1,
        min_p: 0.1,
        repetition_penalty: 1.1,
        guided_json: { type: 'object' },
        chat_template_kwargs: { enable_thinking: false },
        ignore_eos: true,
      },
      'chat_template_kwargs,ignore_eos',
      {
        top_k: 0,
        min_p: 0.1,
        repeat_penalty: 1.1,
        response_format: { type: 'json_schema', json_schema: { schema: { type: 'object' } } },
      },
    ],
    ['Cohere', '/v2/rerank', { ...rank, max_tokens_per_doc: 9 }, 'max_tokens_per_doc', rank],
    ['Jina', '/v1/rerank', { ...rank, truncation: true }, 'truncation', rank],
    [
      'embeddings',
      '/v1/embeddings',
      { model: 'embed-a', input: ['a'], truncate: 'END' },
      'truncate',
      { model: 'embed-a', input: ['a'] },
    ],
    [
      'tools of other kinds',
      '/v1/chat/completions',
      {
        ...chat,
        tools: [{ type: 'custom', custom: { name: 'c' } }, look],
        tool_choice: 'required',
      },
      'tools.custom',
      { tools: [look], tool_choice: 'required' },
    ],
    [
      'a request of the schema',
      '/v1/chat/completions',
      { ...chat, tools: [look] },
      null,
      { tools: [look] },
    ],
  ] as const)
    t.test(`of ${title}`, async t => {
      const answer = await post(path, body)
      t.equal(answer.headers.get(HEADER_IGNORED), ignored)
      t.equal(answer.status, 200)
      const got = seen.at(-1)?.body ?? {}
      t.match(got, sent)
      for (const name of (ignored ?? '').split(',')) t.notOk(Object.hasOwn(got, name), name)
    })
  t.test('also inside of a message', async t => {
    await post('/v1/chat/completions', AGENTS)
    const content = [{ type: 'text', text: 'A machine.' }]
    const [first, , last] = AGENTS.messages
    t.strictSame(seen.at(-1)?.body.messages, [first, { role: 'assistant', content }, last])
  })
})

t.test('the header is short and safe, whatever the names are', async t => {
  const { post, seen } = await start(t)
  const names = [',\r\nset-cookie: a=b', 'ü\ud800', 'n'.repeat(4000), ...Array(40).keys()]
  const answer = await post('/v1/chat/completions', {
    ...chat,
    ...Object.fromEntries(names.map(name => [`x${name}`, 1])),
  })
  const header = answer.headers.get(HEADER_IGNORED) ?? ''
  t.equal(header.split(',').length, 20)
  t.ok(header.startsWith('x0,x1,') || header.includes('x%2C%0D%0Aset-cookie'))
  t.ok(header.length < 2000)
  t.match(header, /^[\w.,%~!'()*-]+$/)
  t.equal(answer.headers.get('set-cookie'), null)
  t.strictSame(seen[0]?.body, chat)
  for (const letter of ['ü', '你', '😀', ' ']) {
    const long = [...Array(40).keys()].map(at => [`${at}${letter.repeat(200)}`, 1])
    const more = await post('/v1/chat/completions', { ...chat, ...Object.fromEntries(long) })
    const names = (more.headers.get(HEADER_IGNORED) ?? '').split(',').map(decodeURIComponent)
    t.equal(names.length, 20)
    t.ok(names.every((name, at) => name.startsWith(`${at}${letter}`)))
    t.ok((more.headers.get(HEADER_IGNORED) ?? '').length < 1400)
  }
})

t.test('what would change the answer is refused', async t => {
  const { post } = await start(t)
  for (const [path, body, param] of [
    ['/v1/chat/completions', { ...chat, n: 99 }, 'n'],
    ['/v1/chat/completions', { ...chat, audio: { voice: 'v' } }, 'audio'],
    ['/v1/chat/completions', { ...chat, response_format: { type: 'xml' } }, 'response_format.type'],
    [
      '/v1/chat/completions',
      { ...chat, tools: [{ type: 'mcp' }], tool_choice: 'required' },
      'tool_choice',
    ],
    [
      '/v1/chat/completions',
      {
        ...chat,
        tools: [look, { type: 'custom', custom: { name: 'c' } }],
        tool_choice: { type: 'custom', custom: { name: 'c' } },
      },
      'tool_choice',
    ],
    [
      '/v1/responses',
      { ...responses, tools: CODEX_TOOLS, tool_choice: { type: 'web_search' } },
      'tool_choice',
    ],
    [
      '/v1/responses',
      {
        ...responses,
        tools: CODEX_TOOLS,
        tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'web_search' }] },
      },
      'tool_choice',
    ],
    ['/v1/responses', { ...responses, background: true }, 'background'],
  ] as const) {
    const answer = await post(path, body)
    t.match([answer.status, await answer.json()], [422, { error: { param } }], JSON.stringify(body))
  }
})

t.test('a strict key has nothing ignored', async t => {
  const { post, seen } = await start(t, true)
  for (const [path, body, param] of [
    ['/v1/chat/completions', AGENTS, 'messages.1.content.0.role'],
    ['/v1/responses', CODEX, 'tools.0.type'],
    ['/v1/completions', { model: 'model-a:7b', prompt: 'a', best: 1 }, 'best'],
    ['/v1/embeddings', { model: 'embed-a', input: 'a', truncate: 'END' }, 'truncate'],
    ['/v2/rerank', { ...rank, max_tokens_per_doc: 9 }, 'max_tokens_per_doc'],
  ] as const) {
    const answer = await post(path, body)
    t.match(
      [answer.status, await answer.json()],
      [422, { error: { param, code: 'invalid_request' } }],
    )
  }
  t.match(await (await post('/api/chat', OLLAMA)).json(), { error: 'unknown field temperature' })
  for (const body of [
    { ...chat, ['n'.repeat(100_000)]: 1 },
    { ...chat, tools: [{ type: 't'.repeat(100_000) }] },
    { ...chat, response_format: { type: 'json_object', ['😀'.repeat(100_000)]: 1 } },
  ])
    t.ok((await (await post('/v1/chat/completions', body)).text()).length < 700)
  t.equal((await post('/v1/chat/completions', chat)).status, 200)
  t.equal(seen.length, 1)
})

t.test("Ollama's routes take JSON of any content type, or none", async t => {
  const { app, post, seen } = await start(t)
  for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
    t.equal((await post('/api/chat', OLLAMA, { 'content-type': type })).status, 200)
  t.equal(seen.length, 2)
  const headers = { authorization: 'Bearer pro-key' }
  const show = { model: 'model-a:7b', verbose: true }
  for (const [url, body] of [
    ['/api/show', show],
    ['/api/chat', OLLAMA],
  ] as const) {
    const payload = Buffer.from(JSON.stringify(body))
    const { statusCode } = await app.inject({ method: 'POST', url, headers, payload })
    t.equal(statusCode, 200, url)
  }
  const typed = { ...headers, 'content-type': 'application/x-www-form-urlencoded' }
  const shown = await app.inject({
    method: 'POST',
    url: '/api/show',
    headers: typed,
    payload: JSON.stringify(show),
  })
  t.match([shown.statusCode, shown.headers[HEADER_IGNORED]], [200, 'verbose'])
})
