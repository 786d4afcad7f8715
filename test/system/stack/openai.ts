import OpenAI, { type APIError } from 'openai'
import type { Test } from 'tap'
import type { TestStack } from '../../support/stack.ts'

/** Words that the small model cannot copy, and so is unsure of. */
const COPY = 'Say: xylophone quartz jigsaw'

const question = (content: string) => [{ role: 'user' as const, content }]

export const testOpenai = async (t: Test, { url, keys }: TestStack): Promise<void> => {
  const client = (apiKey: string) => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 })
  const pro = client(keys.pro)

  t.test('gets an answer about shoal from the bundled model', async t => {
    const answer = await pro.chat.completions.create({
      model: 'model-a:7b',
      messages: question('What is a cell?'),
      temperature: 0,
    })
    t.match(answer, { object: 'chat.completion', model: 'model-a:7b', id: /^chatcmpl-/ })
    t.match(answer.choices[0], { finish_reason: 'stop', message: { role: 'assistant' } })
    t.match(answer.choices[0]?.message.content, /machine|host|daemon/i)
    const { prompt_tokens, completion_tokens, total_tokens } = answer.usage ?? {}
    t.equal((prompt_tokens ?? 0) + (completion_tokens ?? 0), total_tokens)
  })

  t.test('gets the same answer as a stream, with usage in the last chunk', async t => {
    const request = { model: 'model-a:7b', messages: question('What is a cell?'), temperature: 0 }
    const whole = await pro.chat.completions.create(request)
    const options = { stream: true, stream_options: { include_usage: true } } as const
    const stream = await pro.chat.completions.create({ ...request, ...options })
    let text = ''
    const ids = new Set<string>()
    const usages = []
    for await (const chunk of stream) {
      ids.add(chunk.id)
      text += chunk.choices[0]?.delta.content ?? ''
      if (chunk.usage) usages.push([chunk.usage.completion_tokens, chunk.choices.length])
    }
    t.equal(text, whole.choices[0]?.message.content)
    t.equal(ids.size, 1)
    t.strictSame(usages, [[whole.usage?.completion_tokens, 0]])
  })

  t.test('parses output that matches a schema', async t => {
    const schema = {
      type: 'object',
      properties: { critical: { type: 'boolean' }, percent: { type: 'integer', minimum: 0 } },
      required: ['critical', 'percent'],
      additionalProperties: false,
    }
    const answer = await pro.chat.completions.parse({
      model: 'model-a:7b',
      messages: question('Is 97 percent VRAM critical?'),
      max_tokens: 100,
      response_format: { type: 'json_schema', json_schema: { name: 'vram', strict: true, schema } },
    })
    t.match(answer.choices[0]?.message.parsed, { critical: Boolean, percent: Number })
  })

  t.test('calls a function and continues with its result', async t => {
    const tools = [
      {
        type: 'function' as const,
        function: {
          name: 'cell_state',
          parameters: {
            type: 'object',
            properties: { cell: { type: 'string', maxLength: 12 } },
            required: ['cell'],
          },
        },
      },
    ]
    const messages: OpenAI.ChatCompletionMessageParam[] = question('How is cell-1?')
    const request = { model: 'model-a:7b', tools, max_tokens: 200, parallel_tool_calls: false }
    const stream = pro.chat.completions.stream({ ...request, messages, tool_choice: 'required' })
    const [choice] = (await stream.finalChatCompletion()).choices
    const [call] = choice?.message.tool_calls ?? []
    t.equal(choice?.finish_reason, 'tool_calls')
    t.match(JSON.parse(call?.type === 'function' ? call.function.arguments : ''), { cell: String })
    const answer = await pro.chat.completions.create({
      ...request,
      messages: [
        ...messages,
        choice?.message as OpenAI.ChatCompletionMessage,
        { role: 'tool', tool_call_id: call?.id ?? '', content: 'ready' },
      ],
    })
    t.match(answer.choices, [{ message: { role: 'assistant' } }])
  })

  t.test('gets several answers and the log-probabilities of their tokens', async t => {
    const answer = await pro.chat.completions.create({
      model: 'model-a:7b',
      messages: question('Hello'),
      n: 3,
      logprobs: true,
      top_logprobs: 2,
      max_tokens: 10,
    })
    t.equal(answer.choices.length, 3)
    for (const { message, logprobs } of answer.choices) {
      const tokens = logprobs?.content ?? []
      t.equal(tokens.map(({ token }) => token).join(''), message.content)
      t.ok(tokens.every(({ logprob, top_logprobs }) => logprob <= 0 && top_logprobs.length > 0))
    }
  })

  t.test('cannot see the judgement of the coordinator', async t => {
    const { response } = await pro.chat.completions
      .create(
        { model: 'model-a:7b', messages: question('Hello'), max_tokens: 2 },
        { headers: { 'x-shoal-judge': '1' } },
      )
      .withResponse()
    t.equal(response.headers.get('x-shoal-confidence'), null)
  })

  t.test('lists the models of its tier and retrieves one', async t => {
    const ids = (await client(keys.free).models.list()).data.map(model => model.id)
    t.strictSame(ids, ['model-a:7b'])
    t.equal((await pro.models.retrieve('model-b:3b')).id, 'model-b:3b')
  })

  t.test('embeds texts in base64, its default encoding', async t => {
    const input = ['What is a cell?', 'Explain what a cell is.', 'banana bread']
    const { data, usage } = await pro.embeddings.create({ model: 'embed-a', input })
    const vectors = data.map(item => item.embedding)
    const dot = (a: number[] = [], b: number[] = []) =>
      a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0)
    t.strictSame(
      data.map(item => item.index),
      [0, 1, 2],
    )
    t.ok(Math.abs(dot(vectors[0], vectors[0]) - 1) < 1e-3, 'length 1')
    t.ok(dot(vectors[0], vectors[1]) > dot(vectors[0], vectors[2]), 'a paraphrase is nearer')
    t.ok(usage.prompt_tokens > 0)
    const request = { model: 'embed-a', input: 'a', encoding_format: 'float' } as const
    const plain = await pro.embeddings.create(request)
    t.ok(plain.data[0]?.embedding.every(value => typeof value === 'number'))
  })

  t.test('gets typed errors', async t => {
    const ask = (key: string, request: object) =>
      client(key).chat.completions.create({
        model: 'model-a:7b',
        messages: question('hi'),
        ...request,
      } as OpenAI.ChatCompletionCreateParamsNonStreaming)
    for (const [title, key, request, status, code, type] of [
      ['a bad key', 'svc-dev-bad', {}, 401, 'auth_required', OpenAI.AuthenticationError],
      ['an unknown model', keys.free, { model: 'x' }, 404, 'model_not_found', OpenAI.NotFoundError],
      [
        'a bad body',
        keys.free,
        { temperature: 9 },
        422,
        'invalid_request',
        OpenAI.UnprocessableEntityError,
      ],
      [
        'a schema that no grammar can hold',
        keys.free,
        {
          response_format: {
            type: 'json_schema',
            json_schema: { name: 'x', schema: { type: 'string', pattern: 'a' } },
          },
        },
        422,
        'unsupported_parameter',
        OpenAI.UnprocessableEntityError,
      ],
      [
        'a prompt that does not fit',
        keys.free,
        { messages: question('word '.repeat(5000)) },
        400,
        'context_length_exceeded',
        OpenAI.BadRequestError,
      ],
    ] as const) {
      const error = await ask(key, request).catch((error: APIError) => error)
      t.ok(error instanceof type, title)
      t.match(error, { status, code })
    }
  })

  t.test('is answered by the larger model where the smaller one is not confident', async t => {
    for (const [content, model, trail] of [
      ['What is a cell?', 'model-b:3b', /^model-b:3b;confidence=-0\.\d+$/],
      [COPY, 'model-c:7b', /^model-b:3b;confidence=-[01]\.\d+, model-c:7b/],
    ] as const) {
      const request = { model: 'auto', messages: question(content), temperature: 0 }
      const { data, response } = await pro.chat.completions.create(request).withResponse()
      t.equal(data.model, model)
      t.match(response.headers.get('x-shoal-cascade'), trail)
      const stream = await pro.chat.completions.create({ ...request, stream: true })
      let text = ''
      const models = new Set<string>()
      for await (const chunk of stream) {
        models.add(chunk.model)
        text += chunk.choices[0]?.delta.content ?? ''
      }
      t.strictSame([...models], [model])
      t.equal(text, data.choices[0]?.message.content)
    }
    const free = client(keys.free).chat.completions
    const answer = await free.create({ model: 'auto', messages: question(COPY) })
    t.equal(answer.model, 'model-a:7b')
  })

  t.test('sees its month shrink by one per request, but not for a refused one', async t => {
    const fetchRemaining = async (request: object): Promise<number> => {
      const answer = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${keys.free}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'model-a:7b', messages: question('Hello'), ...request }),
      })
      await answer.text()
      return Number(answer.headers.get('x-ratelimit-remaining'))
    }
    const before = await fetchRemaining({})
    t.equal(await fetchRemaining({}), before - 1)
    t.equal(await fetchRemaining({ temperature: 9 }), before - 1)
    t.equal(await fetchRemaining({ stream: true }), before - 2)
    t.equal(await fetchRemaining({ n: 3 }), before - 3, 'several answers are one request')
  })
}
