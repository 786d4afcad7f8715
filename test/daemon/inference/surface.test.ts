import { once } from 'node:events'
import { join } from 'node:path'
import OpenAI from 'openai'
import t from 'tap'
import { writeRandomModel } from '../../../models/gguf/random-model.ts'
import { SMALL } from './fixtures.ts'
import {
  CHAT,
  call,
  connectLink,
  createChatBody,
  startInferenceServer,
  startService,
  waitUntilSettled,
} from './peers.ts'

const small = join(t.testdir(), 'small.gguf')
writeRandomModel(small, SMALL)

/** Byte tokens follow three control tokens; their logits are 0 in random weights. */
const byteToken = (character: string): string => String(3 + character.charCodeAt(0))

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', maxLength: 8 }, unit: { enum: ['c', 'f'] } },
      required: ['city', 'unit'],
    },
  },
} as const
const TIME = { type: 'function', function: { name: 'get_time' } } as const

t.test('a cell with two slots', async t => {
  const service = await startService(t, [{ id: 'one', weights: small }], { slots: 2 })
  await waitUntilSettled(service)
  const port = await startInferenceServer(t, service)
  const chat = (body: unknown, headers = {}) => call(port, 'POST', CHAT, body, headers)
  const baseURL = `http://127.0.0.1:${port}/v1`
  const { completions } = new OpenAI({ baseURL, apiKey: 'any', maxRetries: 0 }).chat
  const question = { model: 'one', messages: [{ role: 'user' as const, content: 'hi' }] }

  t.test('returns more answers than it has slots', async t => {
    const { json, usage } = await chat(createChatBody('hi', { n: 5, temperature: 2, seed: 7 }))
    const choices = json.choices as { index: number; message: { content: string } }[]
    t.strictSame(
      choices.map(({ index }) => index),
      [0, 1, 2, 3, 4],
    )
    t.ok(new Set(choices.map(({ message }) => message.content)).size > 1, 'they differ')
    const single = await chat(createChatBody('hi', { temperature: 2, seed: 7 }))
    t.equal(single.json.choices[0].message.content, choices[0]?.message.content)
    t.match(usage, { completion_tokens: 40, prompt_tokens: single.usage?.prompt_tokens })
    t.match(service.reports(), [{ slots_busy: 0, queued: 0 }])
  })

  t.test('streams several answers side by side', async t => {
    const stream_options = { include_usage: true }
    const stream = await completions.create({
      ...question,
      n: 3,
      seed: 7,
      temperature: 2,
      max_tokens: 60,
      stream: true,
      stream_options,
    })
    const texts = ['', '', '']
    const roles: number[] = []
    const finished: number[] = []
    const order: number[] = []
    let usage: OpenAI.CompletionUsage | null | undefined
    for await (const chunk of stream) {
      usage = chunk.usage
      for (const { index, delta, finish_reason } of chunk.choices) {
        if (delta.role) roles.push(index)
        if (delta.content) order.push(index)
        texts[index] += delta.content ?? ''
        if (finish_reason) finished.push(index)
      }
    }
    t.strictSame(
      [roles.toSorted(), finished.toSorted()],
      [
        [0, 1, 2],
        [0, 1, 2],
      ],
    )
    t.ok(order.lastIndexOf(0) > order.indexOf(1), 'they interleave')
    t.equal(usage?.completion_tokens, 180)
    const whole = await chat(
      createChatBody('hi', { n: 3, seed: 7, temperature: 2, max_tokens: 60 }),
    )
    t.equal(whole.json.choices[0].message.content, texts[0])
  })

  t.test('frees all slots when the client of several answers leaves', async t => {
    const stream = await completions.create({ ...question, n: 5, max_tokens: 1900, stream: true })
    for await (const _ of stream) break
    await chat(createChatBody('hi'))
    await chat(createChatBody('hi'))
    t.match(service.reports(), [{ slots_busy: 0, queued: 0 }])
  })

  t.test('picks the likeliest token at a top_p of 0', async t => {
    const greedy = await chat(createChatBody('hi'))
    const narrow = await chat(createChatBody('hi', { temperature: 2, top_p: 0 }))
    t.equal(narrow.json.choices[0].message.content, greedy.json.choices[0].message.content)
  })

  t.test(
    'keeps the likeliest tokens only, with top_k or min_p, and punishes repetition',
    async t => {
      const answer = async (more: object) =>
        (await chat(createChatBody('hi', { max_tokens: 32, ...more }))).json.choices[0].message
          .content
      const greedy = await answer({})
      const hot = { temperature: 2, seed: 7 }
      t.not(await answer(hot), greedy)
      t.not(await answer({ ...hot, top_k: 0, min_p: 0, repeat_penalty: 1 }), greedy, 'all off')
      t.equal(await answer({ ...hot, top_k: 1 }), greedy)
      t.equal(await answer({ ...hot, min_p: 1 }), greedy)
      t.not(await answer({ repeat_penalty: 10 }), greedy)
    },
  )

  t.test('returns log-probabilities', async t => {
    const body = { logprobs: true, top_logprobs: 3 }
    type Logprob = { token: string; logprob: number; bytes: number[]; top_logprobs: Logprob[] }
    const { json } = await chat(createChatBody('hi', body))
    const [{ message, logprobs }] = json.choices
    const tokens: Logprob[] = logprobs.content
    t.equal(tokens.map(({ token }) => token).join(''), message.content)
    t.equal(Buffer.from(tokens.flatMap(({ bytes }) => bytes)).toString(), message.content)
    t.equal(logprobs.refusal, null)
    for (const { token, logprob, top_logprobs } of tokens) {
      t.equal(top_logprobs.length, 3)
      t.match(top_logprobs[0], { token, logprob }, 'the greedy token is the likeliest')
      const sum = top_logprobs.reduce((total, top) => total + Math.exp(top.logprob), 0)
      t.ok(sum > 0 && sum < 1 + 1e-6)
    }
    t.test('returns them without alternatives, and in a stream', async t => {
      const { json: plain } = await chat(createChatBody('hi', { logprobs: true }))
      const same = tokens.map(token => ({ ...token, top_logprobs: [] }))
      t.strictSame(plain.choices[0].logprobs.content, same)
      const stream = await completions.create({
        ...question,
        logprobs: true,
        max_tokens: 8,
        temperature: 0,
        stream: true,
      })
      const seen: unknown[] = []
      let text = ''
      for await (const { choices } of stream) {
        text += choices[0]?.delta.content ?? ''
        seen.push(...(choices[0]?.logprobs?.content ?? []))
      }
      t.strictSame([text, seen], [message.content, same])
    })
    t.test('returns them for a character of several tokens, and up to a stop string', async t => {
      const [a, b, c] = [...Buffer.from('€')].map(byte => String(3 + byte))
      const logit_bias = { [a as string]: 100, [b as string]: 99, [c as string]: 98 }
      const grown = await chat(
        createChatBody('hi', { ...body, logit_bias, frequency_penalty: 2, max_tokens: 3 }),
      )
      const { message: euro, logprobs: told } = grown.json.choices[0]
      t.equal(euro.content, '€')
      t.equal(told.content.map(({ token }: Logprob) => token).join(''), '€')
      const stop = message.content.slice(3, 6)
      const cut = (await chat(createChatBody('hi', { ...body, stop }))).json.choices[0]
      const pieces = cut.logprobs.content.map(({ token }: Logprob) => token)
      t.equal(pieces.join(''), cut.message.content)
    })
  })

  t.test('writes output that matches a schema', async t => {
    const schema = {
      type: 'object',
      properties: {
        id: { type: 'integer' },
        kind: { enum: ['cell', 'device'] },
        tags: { type: 'array', items: { type: 'string', maxLength: 4 }, maxItems: 2 },
        inner: { anyOf: [{ type: 'null' }, { type: 'boolean' }] },
      },
      required: ['id', 'kind', 'tags', 'inner'],
      additionalProperties: false,
    }
    for (const seed of [1, 2, 3]) {
      const json_schema = { name: 'thing', strict: true, schema }
      const answer = await completions.parse({
        ...question,
        seed,
        max_tokens: 200,
        response_format: { type: 'json_schema', json_schema },
      })
      const parsed = answer.choices[0]?.message.parsed as unknown as Record<string, unknown>
      t.strictSame(Object.keys(parsed), ['id', 'kind', 'tags', 'inner'])
      t.ok(Number.isSafeInteger(parsed.id) && ['cell', 'device'].includes(String(parsed.kind)))
    }
  })

  t.test('ends an unfinished object with finish reason length', async t => {
    const response_format = { type: 'json_object' }
    const { json } = await chat(createChatBody('hi', { response_format, max_tokens: 6 }))
    t.match(json.choices[0], { finish_reason: 'length', message: { content: /^\{/ } })
  })

  t.test('calls the required function', async t => {
    const answer = await completions.create({
      ...question,
      tools: [WEATHER, TIME],
      max_tokens: 400,
      parallel_tool_calls: false,
      tool_choice: { type: 'function', function: { name: 'get_weather' } },
    })
    const [choice] = answer.choices
    t.match(choice, { finish_reason: 'tool_calls', message: { role: 'assistant', content: null } })
    const calls = choice?.message.tool_calls ?? []
    t.match(calls, [{ id: /^call_\w+$/, type: 'function', function: { name: 'get_weather' } }])
    const args = calls[0]?.type === 'function' ? calls[0].function.arguments : ''
    t.match(JSON.parse(args), { city: String, unit: /^[cf]$/ })
  })

  t.test('streams calls: id, type and name first, then pieces of the arguments', async t => {
    const stream = completions.stream({
      ...question,
      tools: [WEATHER, TIME],
      max_tokens: 400,
      seed: 1,
      tool_choice: 'required',
      parallel_tool_calls: false,
    })
    const deltas: OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall[] = []
    for await (const { choices } of stream) deltas.push(...(choices[0]?.delta.tool_calls ?? []))
    const [first, ...rest] = deltas
    t.match(first, {
      index: 0,
      id: /^call_\w+$/,
      type: 'function',
      function: { name: /^get_(weather|time)$/, arguments: '' },
    })
    t.ok(rest.length > 0)
    for (const delta of rest)
      t.strictSame(delta, { index: 0, function: { arguments: delta.function?.arguments } })
    const final = await stream.finalChatCompletion()
    t.equal(final.choices[0]?.finish_reason, 'tool_calls')
    JSON.parse(rest.map(delta => delta.function?.arguments).join(''))
  })

  t.test('calls several functions in one answer', async t => {
    // a bias towards the line break between calls
    const logit_bias = { [byteToken('\n')]: 100 }
    const { json } = await chat(
      createChatBody('hi', { tools: [TIME], tool_choice: 'required', max_tokens: 150, logit_bias }),
    )
    const calls = json.choices[0].message.tool_calls
    t.ok(calls.length > 1)
    t.equal(new Set(calls.map(({ id }: { id: string }) => id)).size, calls.length)
  })

  t.test('continues after the result of a function', async t => {
    const first = await completions.create({
      ...question,
      tools: [TIME],
      tool_choice: 'required',
      max_tokens: 200,
      parallel_tool_calls: false,
    })
    const message = first.choices[0]?.message as OpenAI.ChatCompletionMessage
    const tool_call_id = message.tool_calls?.[0]?.id ?? ''
    const answer = await completions.create({
      model: 'one',
      messages: [...question.messages, message, { role: 'tool', tool_call_id, content: '12:00' }],
      tools: [TIME],
      temperature: 0,
      max_tokens: 5,
    })
    t.ok(answer.choices[0]?.message.content)
    t.equal(answer.choices[0]?.finish_reason, 'length')
  })

  t.test('omits tools from the prompt when none may be called', async t => {
    const tokens = async (more: Record<string, unknown>) =>
      (await chat(createChatBody('hi', more))).usage?.prompt_tokens ?? 0
    const plain = await tokens({})
    t.equal(await tokens({ tools: [TIME], tool_choice: 'none' }), plain)
    t.ok((await tokens({ tools: [TIME] })) > plain)
  })

  t.test('refuses unsupported input with its place', async t => {
    const format = (schema: object) => ({
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
    })
    const long = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`p${i}`, true]))
    for (const [code, param, more] of [
      ['invalid_request', 'n', { n: 17 }],
      ['invalid_request', 'top_logprobs', { top_logprobs: 2 }],
      ['invalid_request', 'top_logprobs', { logprobs: true, top_logprobs: 21 }],
      ['invalid_request', 'tool_choice', { tool_choice: 'required' }],
      ['invalid_request', 'response_format', { response_format: { type: 'xml' } }],
      [
        'unsupported_parameter',
        'response_format.json_schema.schema.pattern',
        format({ type: 'string', pattern: 'a' }),
      ],
      [
        'unsupported_parameter',
        'response_format.json_schema.schema',
        format({ type: 'object', properties: long }),
      ],
      ['context_length_exceeded', 'messages', { tools: [withDescription('x '.repeat(4000))] }],
    ] as const) {
      const answer = await chat(createChatBody('hi', more))
      const status = code === 'context_length_exceeded' ? 400 : 422
      t.match([answer.status, answer.json.error], [status, { code, param }])
    }
  })

  t.test('holds an answer until the coordinator can judge it', async t => {
    const logprobs = async (more: Record<string, unknown>, headers: object) =>
      chat(createChatBody('hi', more), headers)
    const { json } = await logprobs({ logprobs: true }, {})
    const values: number[] = json.choices[0].logprobs.content.map(
      (one: { logprob: number }) => one.logprob,
    )
    const readUnjudged = async (stream: boolean) =>
      (await logprobs({ stream }, {})).text.replace(/chatcmpl-\w+|"created":\d+/g, '')
    const mean = (some: number[]) => some.reduce((sum, one) => sum + one, 0) / some.length
    for (const [stream, tokens, expected] of [
      [true, '3', mean(values.slice(0, 3))],
      [true, '99', mean(values)],
      [false, '3', mean(values)],
    ] as const) {
      const { headers, text } = await logprobs({ stream }, { 'x-shoal-judge': tokens })
      t.ok(Math.abs(Number(headers['x-shoal-confidence']) - expected) < 1e-5)
      t.notMatch(text, /"logprob"/, 'only what the client asked for')
      t.equal(
        text.replace(/chatcmpl-\w+|"created":\d+/g, ''),
        await readUnjudged(stream),
        'the same answer',
      )
    }
    t.equal((await logprobs({}, {})).headers['x-shoal-confidence'], undefined)
  })

  t.test('survives schemas without any valid output', async t => {
    // the only character that is allowed is forbidden by a bias of the caller
    const response_format = {
      type: 'json_schema',
      json_schema: { name: 'x', schema: { enum: ['\u{10FFFF}'] } },
    }
    const logit_bias = Object.fromEntries(
      Array.from({ length: 256 }, (_, byte) => [String(3 + byte), -100]),
    )
    for (let again = 0; again < 4; again++) {
      const { status } = await chat(
        createChatBody('hi', { response_format, logit_bias, max_tokens: 50 }),
      )
      t.ok(status === 200 || status === 422)
    }
    t.match(service.reports(), [{ state: 'ready', restarts: 0 }])
    t.equal((await chat(createChatBody('hi'))).status, 200)
  })
})

const withDescription = (description: string) => ({
  type: 'function',
  function: { name: 'f', description },
})

t.test('streams with log-probabilities fill every batch', async t => {
  const service = await startService(t, [{ id: 'one', weights: small }], { slots: 8 })
  await waitUntilSettled(service)
  const session = await connectLink(t, service)
  const streams = Array.from({ length: 8 }, (_, index) => {
    const head = { ':method': 'POST', ':path': CHAT, 'content-type': 'application/json' }
    const sent = session.request(head)
    const more = { logprobs: true, stream: true, max_tokens: 200 }
    sent.end(JSON.stringify(createChatBody(`${index} `.repeat(index), more)))
    sent.resume()
    return once(sent, 'trailers')
  })
  await Promise.all(streams)
  const [counts] = service.counts()
  t.ok((counts?.width ?? 0) / (counts?.active ?? 1) >= 0.98)
})
