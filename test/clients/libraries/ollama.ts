import { Ollama, type Tool } from 'ollama'
import type { Test } from 'tap'
import type { TestStack } from '../../support/stack.ts'

const MODEL = 'model-a:7b'
const QUESTION = 'What is a cell?'
const messages = [{ role: 'user', content: QUESTION }]
const greedy = { temperature: 0 }

const LOOK: Tool = {
  type: 'function',
  function: {
    name: 'look',
    description: 'Look at a part.',
    parameters: {
      type: 'object',
      properties: { part: { type: 'string', enum: ['cell', 'robot'] } },
      required: ['part'],
    },
  },
}

/** The unmodified `ollama` package against a running stack. */
export const testOllama = async (t: Test, { url, keys }: TestStack): Promise<void> => {
  const clientOf = (key: string) =>
    new Ollama({ host: url, headers: { Authorization: `Bearer ${key}` } })
  const client = clientOf(keys.enterprise)

  t.test('lists, shows and knows the loaded models', async t => {
    t.match(await client.version(), { version: /^\d+\.\d+\.\d+$/ })
    const { models } = await client.list()
    const names = models.map(({ name }) => name)
    t.ok(names.includes(MODEL) && names.includes('embed-a:latest'), names.join(' '))
    t.match(models[0], { model: names[0], digest: /^[0-9a-f]{64}$/, details: { format: 'gguf' } })
    const free = await clientOf(keys.free).list()
    t.strictSame(
      free.models.map(({ name }) => name),
      [MODEL],
      'only those of the tier',
    )
    t.match(await client.show({ model: MODEL }), {
      capabilities: ['completion', 'tools'],
      model_info: { 'general.architecture': 'llama', 'llama.context_length': 2048 },
    })
    t.match((await client.show({ model: 'embed-a:latest' })).capabilities, ['embedding'])
    await client.chat({ model: MODEL, messages, options: { num_predict: 1 } })
    const { models: loaded } = await client.ps()
    t.match(
      loaded.find(({ name }) => name === MODEL),
      { size: Number, size_vram: 0, expires_at: /^9999/ },
    )
  })

  t.test('chats, whole and streamed, with the same answer', async t => {
    const whole = await client.chat({ model: MODEL, messages, options: greedy })
    t.match(whole.message.content, /machine|host|daemon/i)
    t.match(whole, {
      model: MODEL,
      done: true,
      done_reason: 'stop',
      message: { role: 'assistant' },
    })
    t.ok(whole.prompt_eval_count > 0 && whole.eval_count > 0 && whole.total_duration > 0)
    const stream = await client.chat({ model: MODEL, messages, options: greedy, stream: true })
    let text = ''
    const parts = []
    for await (const part of stream) {
      text += part.message.content
      parts.push(part)
    }
    t.equal(text, whole.message.content)
    const last = parts.pop()
    t.ok(parts.length > 1 && parts.every(({ done }) => !done), `${parts.length} pieces`)
    t.match(last, { done: true, done_reason: 'stop', eval_count: whole.eval_count })
    t.ok(Number(last?.eval_duration) > 0)
  })

  t.test('generates from a prompt, with its template and raw', async t => {
    const ask = { model: MODEL, prompt: QUESTION, options: { temperature: 0, num_predict: 8 } }
    const whole = await client.generate(ask)
    t.not(whole.response, '')
    t.strictSame([whole.done_reason, whole.eval_count], ['length', 8])
    let text = ''
    for await (const part of await client.generate({ ...ask, stream: true })) text += part.response
    t.equal(text, whole.response)
    const raw = await client.generate({ ...ask, raw: true })
    t.ok(raw.prompt_eval_count < whole.prompt_eval_count, 'the prompt has no template')
    t.match(await client.generate({ model: MODEL, prompt: '', keep_alive: 0 }), {
      done: true,
      done_reason: 'unload',
    })
  })

  t.test('answers in the form of a schema', async t => {
    const format = {
      type: 'object',
      properties: { critical: { type: 'boolean' } },
      required: ['critical'],
    }
    const asked = { model: MODEL, messages, options: { temperature: 0, num_predict: 60 } }
    const { message } = await client.chat({ ...asked, format })
    t.match(JSON.parse(message.content), { critical: Boolean })
    const stream = await client.chat({ ...asked, format: 'json', stream: true })
    let text = ''
    for await (const part of stream) text += part.message.content
    t.match(text, /^\s*\{/)
  })

  t.test('takes functions, and the result of one', async t => {
    const call = { function: { name: 'look', arguments: { part: 'cell' } } }
    const { message } = await client.chat({
      model: MODEL,
      tools: [LOOK],
      messages: [
        { role: 'user', content: 'Look at the cell.' },
        { role: 'assistant', content: '', tool_calls: [call] },
        { role: 'tool', content: '{"state":"ready"}', tool_name: 'look' },
      ],
      options: { temperature: 0, num_predict: 40 },
    })
    t.ok(message.content !== '' || message.tool_calls?.[0]?.function.name === 'look')
  })

  t.test('embeds texts', async t => {
    const input = ['a cell', 'banana bread']
    const { embeddings, prompt_eval_count } = await client.embed({ model: 'embed-a', input })
    t.equal(embeddings.length, 2)
    for (const vector of embeddings) t.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-3, 'of length 1')
    t.ok(prompt_eval_count > 0)
    const { embedding } = await client.embeddings({ model: 'embed-a', prompt: 'a cell' })
    t.strictSame(embedding, embeddings[0])
  })

  t.test('reads our errors', async t => {
    const chat = (key: string, more: object = {}) =>
      clientOf(key).chat({ model: MODEL, messages, ...more })
    const images = [{ role: 'user', content: 'See', images: ['aGk='] }]
    for (const [ask, status_code, message] of [
      [() => chat('svc-dev-nobody'), 401, /key is not valid/],
      [() => chat(keys.free, { model: 'model-e:70b' }), 404, /not available on tier free/],
      [() => chat(keys.free, { model: 'embed-a' }), 404, /not available on tier free/],
      [() => chat(keys.pro, { messages: images }), 400, /messages\.0\.images: .*send text/],
      [() => chat(keys.pro, { think: true }), 400, /think/],
      [
        () => chat(keys.pro, { messages: [{ role: 'user', content: 'word '.repeat(3000) }] }),
        400,
        /tokens/,
      ],
      [() => client.show({ model: 'llama3' }), 404, /'llama3' not found/],
      [() => client.pull({ model: 'llama3' }), 403, /shoal models add/],
      [() => client.create({ model: 'mine', from: MODEL }), 403, /shoal models add/],
      [() => client.copy({ source: MODEL, destination: 'x' }), 403, /shoal models alias/],
      [() => client.delete({ model: MODEL }), 403, /shoal models remove/],
      [() => client.push({ model: MODEL }), 403, /shoal models show/],
    ] as const)
      await t.rejects(ask() as Promise<unknown>, { name: 'ResponseError', status_code, message })
    const unknownOption = await chat(keys.pro, { options: { mirostat: 2, num_predict: 1 } })
    t.equal(unknownOption.done, true, 'an option that no model here has is ignored')
  })

  t.test('stops the work of the cell when it aborts', async t => {
    const stream = await client.chat({
      model: MODEL,
      messages,
      // so hot that it would go on for hundreds of tokens
      options: { temperature: 2 },
      stream: true,
    })
    const read = async () => {
      for await (const _ of stream) stream.abort()
    }
    await t.rejects(read(), /abort/i)
    t.match(await client.chat({ model: MODEL, messages, options: { num_predict: 1 } }), {
      done: true,
    })
  })

  t.test('gets an answer of the cascade, which counts as one request', async t => {
    const ask = (body: object) =>
      fetch(`${url}/api/chat`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keys.pro}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const first = await ask({ model: 'auto', messages, stream: false, options: greedy })
    t.match(await first.json(), { model: /^model-/, message: { content: /\w/ }, done: true })
    t.match(first.headers.get('x-shoal-cascade'), /^model-b:3b/)
    const second = await ask({ model: MODEL, messages, options: { num_predict: 1 } })
    t.equal(second.headers.get('content-type'), 'application/x-ndjson')
    await second.text()
    const left = (answer: Response) => Number(answer.headers.get('x-ratelimit-remaining'))
    t.equal(left(first) - left(second), 1)
  })
}

/** The calls of Open WebUI to an Ollama connection, with its headers and bodies. */
export const testOpenWebUi = async (t: Test, { url, keys }: TestStack): Promise<void> => {
  const headers = {
    'Content-Type': 'application/json',
    Authorization: `Bearer ${keys.pro}`,
    'X-OpenWebUI-User-Name': 'Ada',
    'X-OpenWebUI-User-Id': '7c1e',
    'X-OpenWebUI-User-Email': 'ada@example.org',
    'X-OpenWebUI-User-Role': 'user',
  }
  const get = async (path: string) => (await fetch(url + path, { headers })).json()
  const post = (path: string, body: object) =>
    fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })

  t.test('verifies the connection and lists its models', async t => {
    t.match(await get('/api/version'), { version: /^\d+\.\d+\.\d+$/ })
    const { models } = (await get('/api/tags')) as { models: { model: string; name: string }[] }
    // it adds `:latest` to a name without a tag, and looks for the result in this list
    t.ok(models.every(({ model, name }) => model === name && model.includes(':')))
    t.match(await get('/api/ps'), { models: Array })
  })

  t.test('streams a chat with its settings', async t => {
    const answer = await post('/api/chat', {
      model: MODEL,
      messages: [
        { role: 'system', content: 'Answer in one sentence.' },
        { role: 'user', content: QUESTION },
      ],
      options: {
        temperature: 0,
        num_ctx: 2048,
        num_predict: 32,
        num_gpu: 1,
        top_k: 40,
        repeat_penalty: 1.1,
        repeat_last_n: 64,
        stop: ['###'],
        seed: 7,
      },
      keep_alive: '5m',
      stream: true,
    })
    t.equal(answer.status, 200)
    t.match(answer.headers.get('content-type'), /^application\/x-ndjson/)
    const lines = (await answer.text()).trimEnd().split('\n')
    const parts = lines.map(line => JSON.parse(line))
    t.ok(parts.length > 1)
    t.match(parts.at(-1), {
      done: true,
      total_duration: Number,
      prompt_eval_count: Number,
      eval_count: Number,
      eval_duration: Number,
    })
  })

  t.test('sends back the call of a function and its result', async t => {
    const call = { index: 0, id: 'call_7', function: { name: 'look', arguments: { part: 'cell' } } }
    const answer = await post('/api/chat', {
      model: MODEL,
      messages: [
        { role: 'user', content: 'Look at the cell.' },
        { role: 'assistant', content: '', tool_calls: [call] },
        { role: 'tool', content: 'ready', tool_call_id: 'call_7' },
      ],
      tools: [LOOK],
      options: { num_predict: 16 },
      stream: true,
    })
    t.equal(answer.status, 200)
    t.match(JSON.parse((await answer.text()).trimEnd().split('\n').at(-1) ?? ''), { done: true })
  })

  t.test('asks for a title without a stream', async t => {
    const answer = await post('/api/chat', {
      model: MODEL,
      messages: [{ role: 'user', content: 'Give a title.' }],
      stream: false,
      options: { num_predict: 16 },
    })
    t.match(await answer.json(), { message: { role: 'assistant' }, done: true })
  })

  t.test('embeds documents and unloads a model', async t => {
    const input = ['a cell', 'a robot']
    const embedded = await post('/api/embed', { model: 'embed-a:latest', input, truncate: true })
    t.equal(((await embedded.json()) as { embeddings: unknown[] }).embeddings.length, 2)
    const unloaded = await post('/api/generate', { model: MODEL, keep_alive: 0, prompt: '' })
    t.match(await unloaded.json(), { done: true, done_reason: 'unload' })
  })

  t.test('uses the OpenAI form of the same connection', async t => {
    t.match(await get('/v1/models'), { object: 'list' })
  })
}
