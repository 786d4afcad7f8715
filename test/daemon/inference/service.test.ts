import { fork } from 'node:child_process'
import { hash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import OpenAI from 'openai'
import t from 'tap'
import type { EngineReply } from '../../../daemon/inference/protocol.ts'
import { writeRandomModel } from '../../../models/gguf/random-model.ts'
import { HOSTILE, SMALL } from './fixtures.ts'
import {
  CHAT,
  call,
  connectLink,
  createChatBody,
  startInferenceServer,
  startService,
  waitForReports,
  waitUntilSettled,
} from './peers.ts'

const folder = t.testdir()
const small = join(folder, 'small.gguf')
const embed = join(folder, 'embed.gguf')
writeRandomModel(small, SMALL)
writeRandomModel(embed, { ...SMALL, contextLength: 128, poolingType: 'mean' })

t.test('a cell with unreadable pins still serves', async t => {
  const files = { 'pinned-models.json': '["embed' }
  const entry = { id: 'embed', weights: embed, kind: 'embedding' as const }
  const service = await startService(t, [entry], { preload: true }, files)
  await waitUntilSettled(service)
  t.match(service.reports(), [{ state: 'ready', pinned: false }])
  await t.rejects(service.models.pin('embed'), { code: 'store_unavailable' })
})

t.test('a cell serves the OpenAI API', async t => {
  const service = await startService(t, [
    { id: 'one', weights: small },
    { id: 'two', weights: small, context_length: 1024 },
    { id: 'embed', weights: embed, kind: 'embedding' },
  ])
  const port = await startInferenceServer(t, service)
  const chat = (body: unknown, headers = {}) => call(port, 'POST', CHAT, body, headers)
  await waitUntilSettled(service)
  const client = new OpenAI({
    baseURL: `http://127.0.0.1:${port}/v1`,
    apiKey: 'any',
    maxRetries: 0,
  })

  t.test('models with the same weights share one engine', async t => {
    t.match(service.reports(), [
      { models: ['one', 'two'], state: 'ready', context_length: 2048 },
      { models: ['embed'], state: 'ready', context_length: 128, slots: 2 },
    ])
    t.equal(new Set(service.pids()).size, 2)
  })

  t.test('lists the models', async t => {
    const { data } = await client.models.list()
    t.strictSame(
      data.map(model => model.id),
      ['one', 'two', 'embed'],
    )
  })

  t.test('returns a complete answer with its usage in body and trailer', async t => {
    const { json, usage } = await chat(createChatBody('hi'))
    t.match(json, {
      id: /^chatcmpl-[0-9a-f]{32}$/,
      object: 'chat.completion',
      model: 'one',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: /^[a-z]+$/, refusal: null },
          logprobs: null,
          finish_reason: 'length',
        },
      ],
    })
    t.strictSame(usage, json.usage)
    t.equal(usage?.completion_tokens, 8)
    t.equal(usage?.total_tokens, (usage?.prompt_tokens ?? 0) + 8)
  })

  t.test('streams with usage, in one shape from start to end', async t => {
    const { text, usage, headers } = await chat(
      createChatBody('hi', { stream: true, stream_options: { include_usage: true } }),
    )
    t.equal(headers['content-type'], 'text/event-stream; charset=utf-8')
    const events = text.trimEnd().split('\n\n')
    t.equal(events.pop(), 'data: [DONE]')
    const chunks = events.map(event => JSON.parse(event.replace(/^data: /, '')))
    t.equal(new Set(chunks.map(({ id, created }) => `${id} ${created}`)).size, 1)
    t.strictSame(chunks.at(0).choices[0].delta, { role: 'assistant', content: '' })
    t.strictSame(chunks.at(-2).choices[0], {
      index: 0,
      delta: {},
      logprobs: null,
      finish_reason: 'length',
    })
    t.strictSame(chunks.at(-1).choices, [])
    t.strictSame(chunks.at(-1).usage, usage)
    t.ok(chunks.slice(0, -1).every(chunk => chunk.usage === null))
    const whole = await chat(createChatBody('hi'))
    const content = chunks.map(chunk => chunk.choices[0]?.delta.content ?? '').join('')
    t.equal(content, whole.json.choices[0].message.content)
    t.equal(
      whole.json.usage.prompt_tokens_details.cached_tokens,
      whole.json.usage.prompt_tokens - 1,
    )
  })

  t.test('a stop string across several tokens ends the answer before it', async t => {
    const whole = (await chat(createChatBody('hi', { max_tokens: 12 }))).json.choices[0].message
      .content
    const stop = whole.slice(3, 8)
    const { json } = await chat(createChatBody('hi', { max_tokens: 12, stop }))
    t.equal(json.choices[0].message.content, whole.slice(0, whole.indexOf(stop)))
    t.equal(json.choices[0].finish_reason, 'stop')
  })

  // Byte tokens follow three control tokens; their logits are 0 in random weights.
  const id = (character: string) => String(3 + character.charCodeAt(0))
  for (const { title, body, content } of [
    { title: 'a bias', body: { logit_bias: { [id('!')]: 100 } }, content: '!!!!' },
    {
      title: 'a frequency penalty',
      body: { logit_bias: { [id('!')]: 100, [id('#')]: 99 }, frequency_penalty: 2 },
      content: '!#!#',
    },
    {
      title: 'a presence penalty',
      body: { logit_bias: { [id('!')]: 100, [id('#')]: 99 }, presence_penalty: 2 },
      content: '!#!!',
    },
    {
      title: 'a negative penalty',
      body: { logit_bias: { [id('!')]: 100, [id('#')]: 99 }, frequency_penalty: -2 },
      content: '!!!!',
    },
  ]) {
    t.test(`${title} is honoured`, async t => {
      const { json } = await chat(createChatBody('hi', { ...body, max_tokens: 4 }))
      t.equal(json.choices[0].message.content, content)
    })
  }

  t.test('a seed reproduces an answer', async t => {
    const answer = async (seed: number) =>
      (await chat(createChatBody('hi', { seed, temperature: 2 }))).json.choices[0].message.content
    t.equal(await answer(7), await answer(7))
    t.equal(await answer(-1), await answer(2 ** 32 - 2))
    t.equal(await answer(2 ** 32 - 1), await answer(2 ** 32 - 1))
    t.not(await answer(7), await answer(8))
  })

  t.test('control tokens in a message stay text', async t => {
    const count = async (content: string) =>
      (await chat(createChatBody(content))).json.usage.prompt_tokens
    t.equal(
      (await count('<|im_end|>')) - (await count('')),
      (await count('<|im_end>|')) - (await count('')),
    )
  })

  t.test('system, developer and content parts reach the prompt', async t => {
    const count = async (body: Record<string, unknown>) =>
      (await chat({ ...createChatBody('x'), ...body })).json.usage.prompt_tokens
    const plain = await count({
      messages: [
        { role: 'system', content: 'ab' },
        { role: 'user', content: 'cd' },
      ],
    })
    t.equal(await count({ system: 'ab', messages: [{ role: 'user', content: 'cd' }] }), plain)
    t.equal(
      await count({
        messages: [
          { role: 'developer', content: 'ab' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'c' },
              { type: 'text', text: 'd' },
            ],
          },
        ],
      }),
      plain,
    )
  })

  t.test('max_tokens', async t => {
    const bound = { 'x-shoal-max-tokens': '3' }
    for (const { title, body, headers, tokens, lowered } of [
      {
        title: 'below the bound stands',
        body: { max_tokens: 2 },
        headers: bound,
        tokens: 2,
        lowered: undefined,
      },
      {
        title: 'above the bound is lowered, and said',
        body: { max_tokens: 9 },
        headers: bound,
        tokens: 3,
        lowered: '3',
      },
      {
        title: 'absent takes the bound',
        body: { max_tokens: null },
        headers: bound,
        tokens: 3,
        lowered: undefined,
      },
      {
        title: 'has a newer name',
        body: { max_completion_tokens: 1 },
        headers: {},
        tokens: 1,
        lowered: undefined,
      },
    ]) {
      t.test(title, async t => {
        const answer = await chat(createChatBody('hi', body), headers)
        t.equal(answer.usage?.completion_tokens, tokens)
        t.equal(answer.headers['x-shoal-max-tokens'], lowered)
      })
    }
    t.test('an answer ends with the context of the model', async t => {
      const { usage, headers } = await chat(
        createChatBody('hi', { model: 'two', max_tokens: 5000, stream: true }),
      )
      t.equal(usage?.total_tokens, 1024)
      t.equal(headers['x-shoal-max-tokens'], String(usage?.completion_tokens))
    })
  })

  t.test('embeddings', async t => {
    const floats = (input: unknown, more = {}) =>
      call(port, 'POST', '/v1/embeddings', { model: 'embed', input, ...more })
    const single = await floats('hello')
    t.match(single.json, {
      object: 'list',
      model: 'embed',
      data: [{ object: 'embedding', index: 0 }],
      usage: { prompt_tokens: Number, total_tokens: single.json.usage.prompt_tokens },
    })
    t.strictSame(single.usage, { ...single.json.usage, completion_tokens: 0 })
    const vector: number[] = single.json.data[0].embedding
    t.ok(Math.abs(Math.hypot(...vector) - 1) < 1e-6, 'has length 1')

    const both = await client.embeddings.create({ model: 'embed', input: ['world', 'hello'] })
    t.strictSame(
      both.data.map(item => item.index),
      [0, 1],
    )
    t.strictSame(both.data[1]?.embedding, vector, 'base64 holds the same')
    t.equal((await floats([5, 6, 7])).json.usage.prompt_tokens, 4, 'tokens and the first one')
    t.equal((await floats([[5], [6]])).json.data.length, 2)
    for (const [input, more, code, param] of [
      ['x '.repeat(100), {}, 'context_length_exceeded', 'input'],
      ['x '.repeat(100_000), {}, 'context_length_exceeded', 'input'],
      [[999_999], {}, 'invalid_request', 'input'],
      ['x', { dimensions: 3 }, 'unsupported_parameter', 'dimensions'],
      ['', {}, 'invalid_request', 'input'],
      ['x', { model: 'one' }, 'invalid_model', 'model'],
    ] as const) {
      t.match((await floats(input, more)).json, { error: { code, param } })
    }
  })

  t.test('an unsupported request is refused with a reason', async t => {
    for (const [status, code, param, body] of [
      [404, 'model_not_found', null, createChatBody('hi', { model: 'three' })],
      [422, 'invalid_model', 'model', createChatBody('hi', { model: 'embed' })],
      [422, 'unsupported_parameter', 'audio', createChatBody('hi', { audio: {} })],
      [422, 'unsupported_parameter', 'verbosity', createChatBody('hi', { verbosity: 'low' })],
      [
        422,
        'unsupported_parameter',
        'reasoning_effort',
        createChatBody('hi', { reasoning_effort: 'low' }),
      ],
      [
        422,
        'unsupported_parameter',
        'moderation',
        createChatBody('hi', { moderation: { model: 'm' } }),
      ],
      [422, 'invalid_request', 'tools.0.type', createChatBody('hi', { tools: [{}] })],
      [422, 'invalid_request', 'temperature', createChatBody('hi', { temperature: 3 })],
      [422, 'invalid_request', 'stream_options', createChatBody('hi', { stream_options: {} })],
      [422, 'invalid_request', 'logit_bias', createChatBody('hi', { logit_bias: { 512: 1 } })],
      [422, 'unsupported_parameter', 'logit_bias', createChatBody('hi', { logit_bias: { 2: 1 } })],
      [400, 'context_length_exceeded', 'messages', createChatBody('x '.repeat(2000))],
      [400, 'context_length_exceeded', 'messages', createChatBody('x'.repeat(2_000_000))],
      [422, 'invalid_request', null, '{'],
      [422, 'invalid_request', null, '[]'],
      [413, 'payload_too_large', null, 'x'.repeat(8 * 1024 * 1024 + 1)],
    ] as const) {
      const answer = await chat(body)
      t.match(
        [answer.status, answer.json.error],
        [status, { code, param, type: String, message: String }],
      )
    }
    const invalidBound = await chat(createChatBody('hi'), { 'x-shoal-max-tokens': '-1' })
    t.match(invalidBound.json.error, { code: 'invalid_request', param: 'x-shoal-max-tokens' })
  })

  t.test('other paths, methods and types are refused', async t => {
    for (const [method, path, type, status, code] of [
      ['GET', '/', 'application/json', 404, 'not_found'],
      ['POST', '/v1/images', 'application/json', 404, 'not_found'],
      ['GET', CHAT, 'application/json', 405, 'method_not_allowed'],
      ['POST', '/v1/models', 'application/json', 405, 'method_not_allowed'],
      ['POST', CHAT, 'text/plain', 415, 'unsupported_media_type'],
    ] as const) {
      const body = method === 'POST' ? '{}' : undefined
      const { json, status: seen } = await call(port, method, path, body, { 'content-type': type })
      t.match([seen, json], [status, { error: { code, param: null } }])
    }
    t.strictSame((await call(port, 'GET', '/healthz')).json, { status: 'ok' })
  })

  t.test('new requests do not wait for long ones beside them', async t => {
    const session = await connectLink(t, service)
    const long = ['one', 'two', 'three'].map(content => {
      const sent = session.request({
        ':method': 'POST',
        ':path': CHAT,
        'content-type': 'application/json',
      })
      sent.end(JSON.stringify(createChatBody(content, { max_tokens: 1500, stream: true })))
      return sent
    })
    await Promise.all(long.map(sent => once(sent, 'data')))
    let running = 3
    const ended = long.map(async sent => {
      await once(sent.resume(), 'trailers')
      running--
    })
    // The second and third one find another prompt in the cache of their slot.
    for (const content of ['aaaa', 'bbbb', 'cccc']) await chat(createChatBody(content))
    t.equal(running, 3)
    await Promise.all(ended)
  })

  t.test('the link carries the same answers, with the usage as trailer', async t => {
    const session = await connectLink(t, service)
    for (const stream of [true, false]) {
      const sent = session.request({
        ':method': 'POST',
        ':path': CHAT,
        'content-type': 'application/json',
      })
      sent.end(JSON.stringify(createChatBody('hi', { stream })))
      sent.resume()
      const [trailers] = await once(sent, 'trailers')
      t.match(JSON.parse(trailers['x-shoal-usage']), { completion_tokens: 8 })
    }
  })
})

t.test('a client that disconnects frees its slot', async t => {
  const service = await startService(t, [{ id: 'one', weights: small }], {
    slots: 1,
    queue_factor: 1,
  })
  await waitUntilSettled(service)
  const session = await connectLink(t, service)
  const post = (body: unknown, path = CHAT) => {
    const sent = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/json',
    })
    sent.on('error', () => {})
    sent.end(JSON.stringify(body))
    return sent
  }
  const createLongBody = (more = {}) =>
    createChatBody('hi', { max_tokens: 2000, stream: true, ...more })
  const leave = async (sent: http2.ClientHttp2Stream) => {
    sent.close(http2.constants.NGHTTP2_CANCEL)
    await once(sent, 'close')
  }
  /** The only slot is free when this is answered. */
  const startServed = async () => {
    const sent = post(createChatBody('hi'))
    sent.resume()
    const [trailers] = await once(sent, 'trailers')
    return JSON.parse(trailers['x-shoal-usage']).completion_tokens
  }

  t.test('while its answer is streamed', async t => {
    const sent = post(createLongBody())
    await once(sent, 'data')
    await leave(sent)
    t.equal(await startServed(), 8)
  })
  t.test('while its prompt is read', async t => {
    await leave(post(createLongBody({ messages: [{ role: 'user', content: 'x '.repeat(900) }] })))
    t.equal(await startServed(), 8)
  })
  t.test('while its answer is gathered', async t => {
    await leave(post(createLongBody({ stream: false })))
    t.equal(await startServed(), 8)
  })
  t.test('while legacy completions are generated one after another', async t => {
    const completion = { model: 'one', prompt: 'hi', n: 16, max_tokens: 1000, temperature: 0 }
    for (const stream of [true, false]) {
      const sent = post({ ...completion, stream }, '/v1/completions')
      if (stream) await once(sent, 'data')
      await leave(sent)
      t.equal(await startServed(), 8)
      t.match(service.reports(), [{ slots_busy: 0, queued: 0 }], 'the next one does not begin')
    }
  })
  t.test('while a response is streamed', async t => {
    const sent = post({ model: 'one', input: 'hi', stream: true }, '/v1/responses')
    await once(sent, 'data')
    await leave(sent)
    t.equal(await startServed(), 8)
  })
  t.test('also by no longer reading', async t => {
    const sent = post(createLongBody())
    sent.on('trailers', () => t.fail('the answer was never taken to its end'))
    await t.rejects(once(sent, 'close'), { code: 'ERR_HTTP2_STREAM_ERROR' })
    t.equal(await startServed(), 8)
  })
  t.test('while its request waits', async t => {
    const first = post(createLongBody())
    await once(first, 'data')
    const waiting = post(createLongBody())
    const refusedOne = post(createLongBody())
    const [headers] = await once(refusedOne, 'response')
    t.match(headers, { ':status': 503, 'retry-after': '1' }, 'the queue is full')
    await leave(waiting)
    await leave(first)
    t.equal(await startServed(), 8)
    t.match(service.reports(), [{ slots_busy: 0, queued: 0 }])
  })
})

t.test('a killed engine fails its requests and restarts', async t => {
  const service = await startService(t, [{ id: 'one', weights: small }], { slots: 1 })
  await waitUntilSettled(service)
  const port = await startInferenceServer(t, service)
  const client = new OpenAI({
    baseURL: `http://127.0.0.1:${port}/v1`,
    apiKey: 'any',
    maxRetries: 0,
  })
  const streaming = await client.chat.completions.create({
    model: 'one',
    stream: true,
    max_tokens: 2000,
    messages: [{ role: 'user', content: 'hi' }],
  })
  const waiting = call(port, 'POST', CHAT, createChatBody('hi'))
  const seen = (async () => {
    let count = 0
    for await (const _ of streaming) {
      if (++count === 2) process.kill(service.pids()[0] as number, 'SIGKILL')
    }
  })()
  await t.rejects(seen, { code: 'cell_unavailable', type: 'service_unavailable' })
  const { status, headers, json } = await waiting
  t.match([status, json.error.code], [503, 'cell_unavailable'])
  t.ok(Number(headers['retry-after']) >= 1)
  await waitForReports(service, ([report]) => report?.state === 'ready')
  t.match(service.reports(), [{ restarts: 1, slots_busy: 0, queued: 0 }])
  t.equal((await call(port, 'POST', CHAT, createChatBody('hi'))).status, 200)
})

t.test('an engine process ends with its daemon, and not with a signal to the group', async t => {
  const main = join(import.meta.dirname, '../../../daemon/inference/child/main.ts')
  const child = fork(main, { serialization: 'advanced', execArgv: [] })
  t.teardown(() => child.kill('SIGKILL'))
  const answer = once(child, 'message')
  const load = { kind: 'chat', slots: 1, contextLength: 128, threads: 1, gpu: 'off' }
  child.send({ type: 'load', file: join(folder, 'absent'), ...load })
  t.match(await answer, [{ type: 'failed', transient: false }])
  child.kill('SIGTERM')
  child.kill('SIGINT')
  const loaded = new Promise(resolve => {
    child.on('message', (reply: EngineReply) => reply.type !== 'progress' && resolve(reply))
  })
  child.send({ type: 'load', file: small, ...load })
  t.match(await loaded, { type: 'ready', device: 'cpu' })
  child.disconnect()
  t.strictSame(await once(child, 'exit'), [null, 'SIGKILL'])
})

t.test('hostile weights are refused with a reason and have no other effect', async t => {
  const good = readFileSync(small)
  const entries = Object.entries({
    ...HOSTILE,
    'a tensor missing': (bytes: Buffer) =>
      Buffer.from(
        bytes.toString('latin1').replace('output_norm.weight', 'output_norm.weighs'),
        'latin1',
      ),
    'its end missing': (bytes: Buffer) => bytes.subarray(0, -1),
  }).map(([, make], index) => {
    const weights = join(folder, `hostile-${index}.gguf`)
    writeFileSync(weights, make(good))
    return { id: `hostile-${index}`, weights }
  })
  const service = await startService(t, [...entries, { id: 'one', weights: small }])
  await waitUntilSettled(service)
  const states = service
    .reports()
    .map(({ state, restarts, reason }) => ({ state, restarts, reason }))
  t.match(states.pop(), { state: 'ready' })
  for (const state of states) t.match(state, { state: 'failed', restarts: 0, reason: String })
  const port = await startInferenceServer(t, service)
  const answer = await call(port, 'POST', CHAT, createChatBody('hi', { model: 'hostile-1' }))
  t.match([answer.status, answer.json.error.code], [503, 'cell_unavailable'])
})

t.test('sixteen streams fill every batch', async t => {
  const service = await startService(t, [{ id: 'one', weights: small }], { slots: 16 })
  await waitUntilSettled(service)
  const session = await connectLink(t, service)
  const streams = Array.from({ length: 16 }, (_, index) => {
    const sent = session.request({
      ':method': 'POST',
      ':path': CHAT,
      'content-type': 'application/json',
    })
    sent.end(
      JSON.stringify(createChatBody(`${index} `.repeat(index), { stream: true, max_tokens: 200 })),
    )
    sent.resume()
    return once(sent, 'trailers')
  })
  const usages = await Promise.all(streams)
  t.ok(
    usages.every(([trailers]) => JSON.parse(trailers['x-shoal-usage']).completion_tokens === 200),
  )
  const [counts] = service.counts()
  const fill = (counts?.width ?? 0) / (counts?.active ?? 1)
  t.comment(`mean batch width / active slots: ${fill.toFixed(4)}`)
  t.ok(fill >= 0.98)
})

t.test('a request for a model that is still being fetched gets the progress', async t => {
  const content = readFileSync(small)
  const half = Math.floor(content.length / 2)
  let finish = (): void => {}
  const hub = createServer((_request, response) => {
    response.writeHead(200, { 'content-length': content.length, etag: '"one"' })
    response.write(content.subarray(0, half))
    finish = () => response.end(content.subarray(half))
  })
  await new Promise<void>(resolve => hub.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    hub.closeAllConnections()
    hub.close()
  })
  const service = await startService(
    t,
    [{ id: 'one', weights: 'hf:acme/tiny/one.gguf', sha256: hash('sha256', content) }],
    {
      preload: false,
      queue_timeout_seconds: 0.2,
      hub_url: `http://127.0.0.1:${(hub.address() as AddressInfo).port}`,
    },
  )
  const port = await startInferenceServer(t, service)
  let answer = await call(port, 'POST', CHAT, createChatBody('hi'))
  while (!/ %$/.test(answer.json.error.message))
    answer = await call(port, 'POST', CHAT, createChatBody('hi'))
  t.match(answer.json.error, { code: 'cell_unavailable', message: /^one is downloading, \d+ %$/ })
  t.match([answer.status, answer.headers['retry-after']], [503, /^[1-9]\d*$/])
  t.match(service.reports(), [{ state: 'loading', phase: 'downloading', progress_percent: Number }])
  finish()
  await waitForReports(service, ([report]) => report?.state === 'ready')
  t.equal((await call(port, 'POST', CHAT, createChatBody('hi'))).status, 200)
})
