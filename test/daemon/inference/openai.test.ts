import { Readable, Writable } from 'node:stream'
import { pino } from 'pino'
import t from 'tap'
import { createHandler } from '../../../daemon/inference/handler.ts'
import { CHAT_SHAPE } from '../../../daemon/inference/openai/answer-shape.ts'
import { plainMessages, samplingOf } from '../../../daemon/inference/openai/chat-order.ts'
import { chatWork, promptBytes } from '../../../daemon/inference/openai/chat-work.ts'
import { completionPlan } from '../../../daemon/inference/openai/completion-order.ts'
import { SseStream } from '../../../daemon/inference/openai/event-stream.ts'
import type { HttpResponse } from '../../../daemon/inference/openai/http.ts'
import { StreamedAnswer } from '../../../daemon/inference/openai/streamed-answer.ts'
import { activeTools } from '../../../daemon/inference/openai/tools.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { CHAT_RULES } from '../../../shared/wire/chat-rules.ts'
import { COMPLETION_RULES } from '../../../shared/wire/completions.ts'
import { ChatRequest } from '../../../shared/wire/openai.ts'
import { readRequest } from '../../../shared/wire/read-request.ts'
import { sseData, sseError } from '../../../shared/wire/sse.ts'

const MAX_WAITING_BYTES = 256 * 1024

const parseChatRequest = (body: unknown) => readRequest(CHAT_RULES, body).request

/** A response whose reader takes everything, or nothing at all. */
const fakeResponse = (reads: boolean) => {
  const written: string[] = []
  const headers: Record<string, string | number> = {}
  const trailers: Record<string, string> = {}
  const stream = new Writable({
    decodeStrings: false,
    write: (chunk, _encoding, done) => {
      written.push(chunk)
      if (reads) done()
    },
  })
  const response: HttpResponse = Object.assign(stream, {
    statusCode: 200,
    headersSent: false,
    setHeader: (name: string, value: string | number) => {
      headers[name] = value
    },
    addTrailers: (more: Record<string, string>) => Object.assign(trailers, more),
  })
  return { response, written, headers, trailers }
}

const ASKED = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
const USAGE = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 }

const setup = (reads: boolean) => {
  const fake = fakeResponse(reads)
  const ticks: (() => void)[] = []
  let stalled = 0
  const stream = new SseStream(fake.response, {
    headers: () => [['x-extra', 'yes']],
    onStalled: () => stalled++,
    repeat: run => {
      ticks.push(run)
      return () => ticks.splice(ticks.indexOf(run), 1)
    },
  })
  return { ...fake, stream, ticks, stalled: () => stalled }
}

t.test('the event stream', async t => {
  t.test('sends a comment when a whole period passed without data', async t => {
    const { stream, ticks, written } = setup(true)
    stream.keepAlive()
    const tick = () => ticks[0]?.()
    tick()
    tick()
    stream.send(1)
    tick()
    tick()
    t.strictSame(written, [': keepalive\n\n', 'data: 1\n\n', ': keepalive\n\n'])
    stream.finish(USAGE)
    t.strictSame(ticks, [], 'the timer ends with the stream')
  })
  t.test('ends with the usage and [DONE] on success', async t => {
    const { stream, written, headers, trailers } = setup(true)
    stream.send('a')
    stream.finish(USAGE)
    t.strictSame(written, ['data: "a"\n\n', 'data: [DONE]\n\n'])
    t.match(headers, { 'x-extra': 'yes', trailer: 'x-shoal-usage', 'x-accel-buffering': 'no' })
    t.strictSame(trailers, { 'x-shoal-usage': JSON.stringify(USAGE) })
  })
  t.test('ends with an error event only on failure', async t => {
    const { stream, written, trailers } = setup(true)
    stream.send('a')
    stream.fail(new ShoalError('cell_unavailable', 'gone'))
    t.equal(written.length, 2)
    t.match(written[1], /^event: error\ndata: \{"error":\{"message":"gone",.*\}\}\n\n$/)
    t.strictSame(trailers, {})
  })
  t.test('drops a reader that stopped reading', async t => {
    const { stream, stalled } = setup(false)
    const text = 'x'.repeat(1024)
    let sent = 0
    while (stalled() === 0 && sent < 2 * MAX_WAITING_BYTES) {
      stream.send(text)
      sent += sseData(text).length
    }
    t.ok(sent > MAX_WAITING_BYTES && sent < MAX_WAITING_BYTES + 4096)
  })
  t.test('waits for a reader with one large piece to read', async t => {
    const { stream, stalled } = setup(false)
    stream.send('x'.repeat(4 * MAX_WAITING_BYTES))
    stream.send('and the next')
    t.equal(stalled(), 0)
  })
})

t.test('a judged stream of several answers', async t => {
  t.test('waits for the first answer alone, also when that ends early', async t => {
    const { response, written } = fakeResponse(true)
    const answer = new StreamedAnswer(response, {
      head: { id: 'chatcmpl-1', created: 1, model: 'm' },
      asked: undefined,
      logprobs: false,
      n: 2,
      judgeTokens: 9,
      shape: CHAT_SHAPE,
      includeUsage: false,
      repeat: () => () => {},
      cancel: () => {},
    })
    answer.onStart({ maxTokens: 99, promptTokens: 1 })
    answer.onTokens(0, [{ text: 'a', logprob: -1, top: [] }])
    answer.onDelta(0, { type: 'content', text: 'a', tokens: [] })
    answer.onDelta(1, { type: 'content', text: 'b', tokens: [] })
    t.strictSame(written, [], 'nothing is judged yet')
    answer.onFinish(0, 'stop')
    t.match(written.join(''), /"content":"a".*"content":"b"/s)
    answer.onDelta(1, { type: 'content', text: 'c', tokens: [] })
    t.match(written.at(-1), /"content":"c"/)
  })
})

t.test('the text of waiting requests', async t => {
  const bytes = (more: Record<string, unknown>) => {
    const body = parseChatRequest({
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      ...more,
    })
    return promptBytes(chatWork(body, activeTools(body), () => 1))
  }
  const call = { id: 'c', type: 'function', function: { name: 'f', arguments: 'x'.repeat(1000) } }
  for (const [what, more] of [
    ['stop strings', { stop: 'x'.repeat(1000) }],
    ['calls of functions', { messages: [{ role: 'assistant', tool_calls: [call] }] }],
    ['schemas', { response_format: { type: 'json_object' } }],
  ] as const)
    t.test(`counts ${what}`, async t => t.ok(bytes(more) >= 1000))
  t.test('is the sum of all prompts', async t => {
    const request = readRequest(COMPLETION_RULES, {
      model: 'm',
      prompt: ['abc', 'de'],
      stop: 'f',
    }).request
    const { prompts } = completionPlan(request, 100, undefined, () => 1)
    t.equal(prompts[0]?.[0]?.bytes, 6)
  })
})

t.test('a request that fails after its answer has begun is cut', async t => {
  const closed = new Promise<unknown>(resolve => {
    const { response } = fakeResponse(true)
    response.on('close', () => resolve(response.destroyed))
    const handle = createHandler({
      engines: {
        find: () => {
          Object.assign(response, { headersSent: true })
          throw new Error('a fault of ours')
        },
      },
      catalogue: [],
      logger: pino({ level: 'silent' }),
      now: Date.now,
      newId: () => '1',
      newSeed: () => 1,
      repeat: () => () => {},
    })
    const request = Object.assign(Readable.from([Buffer.from(JSON.stringify(ASKED))]), {
      method: 'POST',
      url: '/v1/chat/completions',
      headers: { 'content-type': 'application/json' },
    })
    response.setHeader = () => {
      throw new Error('the headers are sent')
    }
    handle(request, response)
  })
  t.equal(await closed, true, 'is cut off')
})

t.test('an error event carries the body under its name', async t => {
  const [name, data] = sseError(new ShoalError('internal', 'a\nb')).split('\n')
  t.equal(name, 'event: error')
  t.strictSame(JSON.parse((data as string).slice(6)), {
    error: { message: 'a\nb', type: 'server_error', param: null, code: 'internal' },
  })
})

t.test('a chat request is accepted', async t => {
  const BODY = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }
  const parse = (more: Record<string, unknown>) => parseChatRequest({ ...BODY, ...more })

  t.test('with the defaults of OpenAI', async t => {
    t.strictSame(
      samplingOf(parse({}), () => 5),
      {
        temperature: 1,
        topP: 1,
        seed: 5,
        stop: [],
        frequencyPenalty: 0,
        presencePenalty: 0,
        logitBias: [],
      },
    )
    const nulls = { temperature: null, top_p: null, seed: null, stop: null, logit_bias: null }
    t.strictSame(
      samplingOf(parse(nulls), () => 5),
      samplingOf(parse({}), () => 5),
    )
  })
  t.test('with fields that change nothing at their neutral value', async t => {
    const more = {
      verbosity: 'medium',
      reasoning_effort: 'none',
      moderation: null,
      prompt_cache_key: 'a',
      prompt_cache_retention: '24h',
      prompt_cache_options: { mode: 'implicit', ttl: '12h' },
    }
    const messages = [{ role: 'user', content: 'hi' }]
    t.match(parseChatRequest({ model: 'm', messages, ...more }), more)
  })
  t.test('with any integer as seed', async t => {
    const seed = (value: number) => samplingOf(parse({ seed: value }), () => 5).seed
    t.strictSame(
      [0, -1, 2 ** 32 - 1, 2 ** 32, Number.MIN_SAFE_INTEGER].map(seed),
      [0, 4294967294, 0, 1, 4292870144],
    )
    t.ok(Number.isSafeInteger(seed(2 ** 63)), 'OpenAI takes 64 bits')
    t.match(
      [1.5, 2 ** 64].map(bad => ChatRequest.safeParse({ ...BODY, seed: bad }).success),
      [false, false],
    )
  })
  t.test('with one stop string or several', async t => {
    const stop = (value: unknown) => samplingOf(parse({ stop: value }), () => 5).stop
    t.strictSame([stop('a'), stop(['a', 'b'])], [['a'], ['a', 'b']])
  })
  t.test('with answers in the form that libraries write', async t => {
    const answer = { role: 'assistant', content: 'b', refusal: null, name: null }
    for (const more of [
      { annotations: null, audio: null, function_call: null, tool_calls: null },
      { annotations: [], tool_calls: [] },
    ])
      t.match(plainMessages(parse({ messages: [{ ...answer, ...more }] })), [{ text: 'b' }])
    for (const [name, value] of [
      ['tool_calls', [{ id: 'x' }]],
      ['function_call', { name: 'f' }],
      ['audio', { id: 'x' }],
    ] as const)
      t.throws(() => parse({ messages: [{ ...answer, [name]: value }] }), {
        code: 'invalid_request',
        param: `messages.0.${name}`,
      })
  })
  t.test('with messages of plain text', async t => {
    const parts = [
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
    ]
    const messages = [
      { role: 'developer', content: parts },
      { role: 'assistant', content: null },
      { role: 'user', content: 'c', name: 'x' },
    ]
    t.strictSame(plainMessages(parse({ system: 's', messages })), [
      { role: 'system', text: 's' },
      { role: 'system', text: 'ab' },
      { role: 'assistant', text: '' },
      { role: 'user', text: 'c' },
    ])
  })
  t.test('unless it biases thousands of tokens', async t => {
    const logit_bias = Object.fromEntries(Array.from({ length: 1025 }, (_, id) => [id, 1]))
    t.throws(() => parse({ logit_bias }), { code: 'invalid_request', param: 'logit_bias' })
  })
})
