import { once } from 'node:events'
import t from 'tap'
import { newCell } from '../../../../coordinator/fleet/cells/cell.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { CAPABILITY } from '../../../../shared/wire/capability.ts'
import { TRAILER_USAGE } from '../../../../shared/wire/link.ts'
import { appWith, config, keyOfTier, views } from '../../../support/app.ts'
import { endWithUsage, linkCell, USAGE } from '../../../support/cell.ts'
import { rig } from '../../../support/front-rig.ts'

const chat = { model: 'model-a:7b', messages: [{ role: 'user', content: 'hi' }] }
const EVENTS = { 'content-type': 'text/event-stream' }
const JSON_TYPE = { 'content-type': 'application/json' }

const chunk = (delta: object, finish_reason: string | null = null, more: object = {}): string =>
  `data: ${JSON.stringify({ model: 'model-a:7b', choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`
const FIGURES = `data: ${JSON.stringify({ model: 'model-a:7b', choices: [], usage: USAGE })}\n\n`

const linesOf = async (answer: Response) =>
  (await answer.text())
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line))

t.test("a request has the same meaning in OpenAI's form", async t => {
  const { post, seen } = await rig(t, (_request, response) => {
    response.writeHead(200, JSON_TYPE)
    const message = { role: 'assistant', content: 'yes' }
    const choices = [{ index: 0, message, finish_reason: 'length', logprobs: null }]
    response.write(JSON.stringify({ model: 'model-a:7b', choices, usage: USAGE }))
    endWithUsage(response)
  })
  const call = { function: { name: 'look', arguments: { part: 'cell' } } }
  const answer = await post('/api/chat', {
    model: 'model-a:7b',
    messages: [
      { role: 'system', content: 's', images: [] },
      { role: 'assistant', content: '', thinking: 'hm', tool_calls: [call, call] },
      { role: 'tool', content: 'one', tool_name: 'look' },
      { role: 'tool', content: 'two', tool_name: 'look' },
    ],
    stream: false,
    format: { type: 'object' },
    keep_alive: '10m',
    think: false,
    options: {
      num_predict: 5,
      temperature: 0.5,
      top_p: 0.9,
      seed: -1,
      stop: ['x'],
      num_ctx: 8192,
      top_k: 40,
      repeat_penalty: 1.1,
      typical_p: 1,
      repeat_last_n: 64,
    },
  })
  t.match(await answer.json(), {
    model: 'model-a:7b',
    created_at: '2027-01-15T08:00:00.000Z',
    message: { role: 'assistant', content: 'yes' },
    done: true,
    done_reason: 'length',
    prompt_eval_count: 3,
    eval_count: 2,
  })
  const asked = (id: string) => ({
    id,
    type: 'function',
    function: { name: 'look', arguments: '{"part":"cell"}' },
  })
  t.strictSame(seen, [
    {
      path: '/v1/chat/completions',
      body: {
        model: 'model-a:7b',
        messages: [
          { role: 'system', content: 's' },
          { role: 'assistant', content: '', tool_calls: [asked('call_0'), asked('call_1')] },
          { role: 'tool', content: 'one', tool_call_id: 'call_0' },
          { role: 'tool', content: 'two', tool_call_id: 'call_1' },
        ],
        stream: false,
        max_tokens: 5,
        temperature: 0.5,
        top_p: 0.9,
        top_k: 40,
        repeat_penalty: 1.1,
        stop: ['x'],
        response_format: {
          type: 'json_schema',
          json_schema: { name: 'answer', schema: { type: 'object' }, strict: true },
        },
      },
    },
  ])
})

t.test('a stream has the calls of functions whole, and no comments', async t => {
  const { post } = await rig(t, (_request, response) => {
    response.writeHead(200, EVENTS)
    const named = {
      index: 0,
      id: 'c1',
      type: 'function',
      function: { name: 'look', arguments: '' },
    }
    const rest = (text: string) => ({ index: 0, function: { arguments: text } })
    const events = [
      chunk({ role: 'assistant', content: '' }),
      ': keepalive\n\n',
      chunk({ content: 'Grüße ' }),
      chunk({ tool_calls: [named] }),
      chunk({ tool_calls: [rest('{"part":')] }),
      chunk({ tool_calls: [rest('"cell"}')] }),
      chunk({}, 'tool_calls'),
      FIGURES,
      'data: [DONE]\n\n',
    ]
    const bytes = Buffer.from(events.join(''))
    // cut in the middle of a character
    const at = bytes.indexOf('ü') + 1
    response.write(bytes.subarray(0, at))
    setImmediate(() => {
      response.write(bytes.subarray(at))
      endWithUsage(response)
    })
  })
  const answer = await post('/api/chat', chat, { 'x-request-id': 'mine' })
  t.equal(answer.headers.get('content-type'), 'application/x-ndjson')
  t.match(answer.headers.get('x-shoal-cell'), 'a')
  t.match(answer.headers.get('x-request-id'), 'mine')
  t.match(await linesOf(answer), [
    { message: { role: 'assistant', content: 'Grüße ' }, done: false },
    {
      message: {
        content: '',
        tool_calls: [
          { id: 'c1', function: { index: 0, name: 'look', arguments: { part: 'cell' } } },
        ],
      },
      done: false,
    },
    { message: { content: '' }, done: true, done_reason: 'stop', eval_count: 2 },
  ])
})

t.test('a stream that breaks off ends with an error and without `done`', async t => {
  const { post, engine } = await rig(t, (_request, response) => {
    response.writeHead(200, EVENTS)
    response.write(chunk({ content: 'half' }))
    setImmediate(() => response.stream.close())
  })
  const lines = await linesOf(await post('/api/generate', { model: 'model-a:7b', prompt: 'hi' }))
  t.match(lines, [{ response: 'half', done: false }, { error: /^a / }])
  t.equal(lines.length, 2)
  t.equal(engine.inFlight, 0)
})

t.test('a client that leaves in the middle of a stream frees its place', async t => {
  const outcomes: string[] = []
  let markRecorded = (): void => {}
  const recorded = new Promise<void>(resolve => {
    markRecorded = resolve
  })
  const { post, engine } = await rig(
    t,
    (_request, response) => {
      response.writeHead(200, EVENTS)
      response.write(chunk({ content: 'one' }))
    },
    {
      usage: {
        record: async ({ status, route }) => {
          outcomes.push(`${route} ${status}`)
          markRecorded()
        },
      },
    },
  )
  const { body } = await post('/api/chat', chat)
  const reader = body?.getReader()
  await reader?.read()
  await reader?.cancel()
  await recorded
  t.strictSame(outcomes, ['/v1/chat/completions cancelled'])
  t.equal(engine.inFlight, 0)
})

t.test('a stream is cut with an error when its key ends', async t => {
  let cut = (_error: ShoalError): void => {}
  const { post, engine } = await rig(
    t,
    (_request, response) => {
      response.writeHead(200, EVENTS)
      response.write(chunk({ content: 'one' }))
    },
    {
      keys: {
        authenticate: () => keyOfTier('pro'),
        hold: (_key, held) => {
          cut = held.cut
          return () => {}
        },
      },
    },
  )
  const { body } = await post('/api/chat', chat)
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  t.match((await reader?.read())?.value, /"content":"one"/)
  cut(new ShoalError('auth_required', 'the key was revoked'))
  t.equal((await reader?.read())?.value, '{"error":"the key was revoked"}\n')
  t.equal((await reader?.read())?.done, true)
  t.equal(engine.inFlight, 0)
})

t.test('the refusal of a cell arrives with its status and message', async t => {
  const { post } = await rig(t, (_request, response) => {
    const error = { message: 'too long', code: 'context_length_exceeded', param: 'messages' }
    response.writeHead(422, JSON_TYPE)
    response.end(JSON.stringify({ error }))
  })
  for (const stream of [true, false]) {
    const answer = await post('/api/chat', { ...chat, stream })
    t.equal(answer.status, 400)
    t.strictSame(await answer.json(), { error: 'too long' })
  }
})

t.test('an answer that cannot be translated is an error of the cell', async t => {
  const { post } = await rig(t, (_request, response) => {
    response.writeHead(200, JSON_TYPE)
    response.write('{"choices":1}')
    endWithUsage(response)
  })
  const answer = await post('/api/chat', { ...chat, stream: false })
  t.equal(answer.status, 503)
  t.match(await answer.json(), { error: /cannot be parsed/ })
})

t.test('errors of every route of Ollama are one text', async t => {
  const app = await appWith({ config: config({ limits: { anonymous_per_minute: 100 } }) })
  t.teardown(() => app.close())
  const authorization = 'Bearer free-key'
  const json = { authorization, 'content-type': 'application/json' }
  const post = { method: 'POST' as const, headers: json }
  for (const [request, status, error] of [
    [{ ...post, url: '/api/chat', headers: {} }, 401, /send your key/],
    [{ ...post, url: '/api/chat', payload: '{' }, 400, /JSON/],
    [{ ...post, url: '/api/chat', payload: '{}' }, 400, /^model is missing$/],
    [
      { ...post, url: '/api/generate', payload: { ...chat, prompt: 'a', suffix: 'b' } },
      400,
      /^suffix is not supported$/,
    ],
    [{ ...post, url: '/api/chat', payload: { ...chat, model: 'x' } }, 404, /^model 'x' not found$/],
    [{ ...post, url: '/api/chat', payload: { model: 'x' } }, 404, /^model 'x' not found$/],
    [{ ...post, url: '/api/generate', payload: { model: 'x', prompt: 'a' } }, 404, /'x' not found/],
    [{ ...post, url: '/api/embed', payload: { model: 'x', input: 'a' } }, 404, /'x' not found/],
    [{ ...post, url: '/api/chat', payload: { ...chat, model: 'model-e:70b' } }, 404, /tier free/],
    [
      {
        ...post,
        url: '/api/generate',
        payload: { model: 'model-a:7b', prompt: 'a', raw: true, system: 'b' },
      },
      400,
      /^system is not supported with raw$/,
    ],
    [
      { ...post, url: '/api/embed', payload: { model: 'model-a:7b', input: 'a' } },
      404,
      /kind chat/,
    ],
    [{ ...post, url: '/api/chat', payload: chat }, 503, /no cell.* shoal models show model-a:7b$/],
    [
      { ...post, url: '/api/chat', headers: { authorization }, payload: 'x' },
      400,
      /not valid JSON/,
    ],
    [{ url: '/api/tags' }, 401, /send your key/],
    [{ url: '/api/chat', headers: json }, 405, /supports POST/],
    [{ url: '/api/none', headers: json }, 404, /no route/],
    [{ ...post, url: '/api/blobs/sha256:0', payload: {} }, 403, /shoal models add/],
    [{ ...post, url: '/api/copy', payload: {} }, 403, /shoal models alias/],
    [{ ...post, method: 'DELETE', url: '/api/delete', payload: {} }, 403, /shoal models remove/],
    [{ ...post, url: '/api/chat', payload: { ...chat, think: true } }, 400, /think: false/],
    [
      {
        ...post,
        url: '/api/generate',
        payload: { model: 'model-a:7b', prompt: 'a', think: 'high' },
      },
      400,
      /think: false/,
    ],
    [
      {
        ...post,
        url: '/api/chat',
        payload: { ...chat, messages: [{ role: 'user', content: 'a', images: ['aGk='] }] },
      },
      400,
      /^messages.0.images: model-a:7b does not accept images/,
    ],
    [
      {
        ...post,
        url: '/api/generate',
        payload: { model: 'model-a:7b', prompt: 'a', images: ['aGk='] },
      },
      400,
      /does not accept images/,
    ],
    [
      {
        ...post,
        url: '/api/generate',
        payload: { model: 'model-a:7b', prompt: 'a', suffix: 'b', context: [] },
      },
      400,
      /^suffix is not/,
    ],
    [{ ...post, url: '/api/pull', payload: { model: 'x' } }, 403, /shoal models add/],
  ] as const) {
    const answer = await app.inject(request)
    const title = `${status} ${request.url}`
    t.equal(answer.statusCode, status, title)
    t.match(answer.json(), { error }, title)
    t.ok(answer.headers['x-request-id'] && answer.headers['x-ratelimit-limit'], title)
  }
  t.equal((await app.inject('/api/version')).statusCode, 200, 'the version needs no key')
})

t.test(
  'lists have the size of weights on the cells of the tenant, and what is loaded there',
  async t => {
    const cellWith = (id: string, gpus: object[], engine: object) => ({
      id,
      presence: 'ready',
      link: {},
      isLinkLate: false,
      sample: { gpus, engines: [{ models: ['model-a:7b'], ...engine }] },
    })
    const cells = [
      cellWith('own', [{}], { state: 'ready', file_bytes: 70, memory_bytes: 90 }),
      cellWith('small', [], { state: 'cold', file_bytes: 80, memory_bytes: 95 }),
      cellWith('foreign', [{}], { state: 'ready', file_bytes: 999, memory_bytes: 999 }),
    ] as never[]
    const router = { mayUse: (cellId: string) => cellId !== 'foreign' }
    const app = await appWith({
      fleet: {
        pick: () => undefined,
        cells: () => cells,
        serves: () => true,
        roundTripsMs: () => [],
      },
      views: views({ routing: { router } as never }),
    })
    t.teardown(() => app.close())
    const ask = async (url: string) =>
      (await app.inject({ url, headers: { authorization: 'Bearer free-key' } })).json().models
    t.match(await ask('/api/tags'), [{ name: 'model-a:7b', size: 80 }])
    const loaded = await ask('/api/ps')
    t.equal(loaded.length, 1)
    t.match(loaded, [{ name: 'model-a:7b', size: 90, size_vram: 90, context_length: 2048 }])
  },
)

t.test('a model is described as its file states on a cell of the tenant, asked once', async t => {
  const asked: string[] = []
  const facts = {
    kind: 'chat',
    weights: '/w.gguf',
    file_bytes: 70,
    architecture: 'qwen3',
    quantization: 'Q4_K_M',
    parameters: 7_615_616_512,
    name: 'Seven',
    licence: 'apache-2.0',
    licence_url: null,
    context_length: 32_768,
    layers: 36,
    embedding_length: 4096,
    vocabulary: 10,
    tool_format: null,
    chat_template: '{{ x }}',
  }
  const cell = await linkCell('own', (request, response) => {
    asked.push(request.url)
    response.end(JSON.stringify(facts))
  })
  const cellWith = (id: string, engine: object) => ({
    ...newCell(id, 1),
    presence: 'ready' as const,
    link: cell.link,
    announce: { capability: CAPABILITY } as never,
    sample: { gpus: [], engines: [{ models: ['model-a:7b'], file_bytes: 70, ...engine }] } as never,
  })
  const cells = [
    cellWith('foreign', {}),
    cellWith('masked', { own_models: ['model-a:7b'] }),
    cellWith('own', { state: 'ready' }),
  ]
  const router = { mayUse: (cellId: string) => cellId !== 'foreign' }
  const app = await appWith({
    fleet: {
      pick: () => undefined,
      cells: () => cells,
      serves: () => true,
      roundTripsMs: () => [],
    },
    views: views({ routing: { router } as never }),
  })
  t.teardown(async () => {
    await app.close()
    await cell.close()
  })
  const headers = { authorization: 'Bearer free-key' }
  const details = {
    format: 'gguf',
    family: 'qwen3',
    families: ['qwen3'],
    parameter_size: '7.6B',
    quantization_level: 'Q4_K_M',
  }
  for (const url of ['/api/tags', '/api/ps'])
    t.match((await app.inject({ url, headers })).json().models[0], { details }, url)
  const payload = { model: 'model-a:7b' }
  const shown = await app.inject({ method: 'POST', url: '/api/show', headers, payload })
  t.match(shown.json(), {
    details,
    license: 'apache-2.0',
    template: '{{ x }}',
    capabilities: ['completion', 'tools'],
    model_info: {
      'general.architecture': 'qwen3',
      'general.parameter_count': 7_615_616_512,
      'qwen3.context_length': 2048,
      'qwen3.block_count': 36,
    },
  })
  t.equal(asked.length, 1)
})

t.test('vectors are translated from base64', async t => {
  const { post, seen } = await rig(t, (_request, response) => {
    const vector = Buffer.alloc(8)
    vector.writeFloatLE(0.5, 0)
    vector.writeFloatLE(-0.25, 4)
    const embedding = vector.toString('base64')
    const data = [0, 1].map(index => ({ object: 'embedding', index, embedding }))
    const usage = { prompt_tokens: 4, total_tokens: 4 }
    response.writeHead(200, JSON_TYPE)
    response.write(JSON.stringify({ object: 'list', model: 'embed-a', data, usage }))
    endWithUsage(response)
  })
  const answer = await post('/api/embed', { model: 'embed-a:latest', input: ['a', 'b'] })
  t.match(await answer.json(), {
    model: 'embed-a',
    embeddings: [
      [0.5, -0.25],
      [0.5, -0.25],
    ],
    prompt_eval_count: 4,
  })
  t.match(seen, [{ path: '/v1/embeddings', body: { model: 'embed-a', encoding_format: 'base64' } }])
})

t.test('a rerank request needs a model of that kind, and is counted like any other', async t => {
  const ranks = { id: 'ranks', kind: 'rerank', minimum_tier: 'pro', weights: 'r.gguf' }
  const catalogue = [...config().catalogue, { ...ranks, context_length: 512 }]
  const rows: { route: string; model: string; prompt_tokens: number | null }[] = []
  let admitted = 0
  const answer = { results: [{ index: 1, relevance_score: 0.75 }], usage: { total_tokens: 3 } }
  const { post, seen } = await rig(
    t,
    (_request, response) => {
      response.writeHead(200, { ...JSON_TYPE, trailer: TRAILER_USAGE })
      response.write(JSON.stringify(answer))
      endWithUsage(response)
    },
    {
      config: config({ catalogue }),
      usage: { record: async row => void rows.push(row) },
      quota: {
        standing: () => ({ limit: 9, remaining: 9, resetSeconds: 1, burst: 9, minuteLimit: 9 }),
        admit: () => {
          admitted++
          return { refund: () => {} }
        },
      },
    },
  )
  const asked = { query: 'q', documents: ['a', { text: 'b' }], top_n: 1 }
  const ranked = await post('/v1/rerank', { model: 'ranks', ...asked })
  t.strictSame(await ranked.json(), answer)
  t.match(seen, [{ path: '/v1/rerank', body: { model: 'ranks', ...asked } }])
  t.match(rows, [{ route: '/v1/rerank', model: 'ranks', prompt_tokens: 3 }])
  const second = { model: 'ranks', query: 'q', documents: ['a', 'b'], top_n: 1 }
  t.strictSame(await (await post('/v2/rerank', second)).json(), answer)
  t.strictSame(seen[1], { path: '/v1/rerank', body: second })
  const refused = await post('/v2/rerank', { ...second, documents: [{ text: 'a' }] })
  t.match([refused.status, await refused.json()], [422, { error: { param: /^documents/ } }])
  for (const [body, code, param] of [
    [{ model: 'model-a:7b', ...asked }, 'invalid_model', 'model'],
    [{ model: 'ranks', ...asked, documents: [] }, 'invalid_request', 'documents'],
    [{ model: 'ranks', ...asked, top_n: 0 }, 'invalid_request', 'top_n'],
  ] as const) {
    const refused = await post('/v1/rerank', body)
    t.equal(refused.status, 422)
    t.match(await refused.json(), { error: { code, param } })
  }
  t.equal(admitted, 2)
})

t.test('a shutdown waits for a stream that is translated', async t => {
  const count = { running: 0 }
  let markIdle = (): void => {}
  const isIdle = new Promise<void>(resolve => {
    markIdle = resolve
  })
  const { app, post } = await rig(
    t,
    (_request, response) => {
      response.writeHead(200, EVENTS)
      response.write(`${chunk({ content: 'x' }, 'stop')}${FIGURES}data: [DONE]\n\n`)
      endWithUsage(response)
    },
    {
      running: {
        add: () => void count.running++,
        remove: () => {
          if (--count.running === 0) markIdle()
        },
        isDraining: () => false,
      },
    },
  )
  const asked = once(app.server, 'request')
  const answer = post('/api/chat', chat)
  const [, response] = await asked
  await answer
  t.ok(count.running === 1 || response.writableFinished)
  await (await answer).text()
  await isIdle
  t.ok(response.writableFinished)
})
