import t from 'tap'
import { ResponseEvents } from '../../../daemon/inference/openai/response-events.ts'
import { wholeResponse } from '../../../daemon/inference/openai/response-whole.ts'
import { chatBodyOf, responsesParam } from '../../../daemon/inference/openai/responses-chat.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { ChatCompletionChunk } from '../../../shared/wire/openai.ts'
import { readRequest } from '../../../shared/wire/read-request.ts'
import { ModelResponse, ResponseEvent } from '../../../shared/wire/response.ts'
import { RESPONSES_RULES } from '../../../shared/wire/responses-rules.ts'
import { call, startInferenceServer, startService, waitUntilSettled } from './peers.ts'

const read = (more: object) => readRequest(RESPONSES_RULES, { model: 'm', input: 'hi', ...more })
const parse = (more: object) => read(more).request

const FUNCTION = {
  type: 'function',
  name: 'look',
  description: 'Looks.',
  parameters: {
    type: 'object',
    properties: { deep: { type: 'boolean' } },
    required: ['deep'],
    additionalProperties: false,
  },
}

t.test('a Responses request becomes a chat request', async t => {
  const chat = (more: object) => chatBodyOf(parse(more))

  t.test('without unrequested fields', async t => {
    t.strictSame(chat({}), { model: 'm', messages: [{ role: 'user', content: 'hi' }] })
    const nulls = { temperature: null, tools: null, text: null, max_output_tokens: null }
    t.strictSame(chat(nulls), chat({}))
    t.strictSame(chat({ store: true, metadata: { a: 'b' }, user: 'u' }), chat({}), 'labels')
  })

  t.test('with items as messages; calls belong to the answer before them', async t => {
    const input = [
      { role: 'user', content: [{ type: 'input_text', text: 'a' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'b' }] },
      { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}', id: 'fc_1' },
      { type: 'function_call', call_id: 'c2', name: 'g', arguments: '{"x":1}' },
      { type: 'function_call_output', call_id: 'c1', output: 'one' },
      {
        type: 'function_call_output',
        call_id: 'c2',
        output: [{ type: 'input_text', text: 'two' }],
      },
      { type: 'function_call', call_id: 'c3', name: 'f', arguments: '{}' },
    ]
    const createToolCall = (id: string, name: string, args: string) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    })
    t.strictSame(chat({ input, instructions: 's' }).messages, [
      { role: 'system', content: 's' },
      { role: 'user', content: 'a' },
      {
        role: 'assistant',
        content: 'b',
        tool_calls: [createToolCall('c1', 'f', '{}'), createToolCall('c2', 'g', '{"x":1}')],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'one' },
      { role: 'tool', tool_call_id: 'c2', content: 'two' },
      { role: 'assistant', content: null, tool_calls: [createToolCall('c3', 'f', '{}')] },
    ])
  })

  t.test('with tools, formats and limits under their chat names', async t => {
    const { type, ...rest } = FUNCTION
    const tools = [{ type, function: rest }]
    t.strictSame(chat({ tools: [FUNCTION] }).tools, tools)
    const named = { type: 'function', name: 'look' }
    for (const [choice, expected] of [
      ['required', 'required'],
      ['none', 'none'],
      [named, { type: 'function', function: { name: 'look' } }],
      [
        { type: 'allowed_tools', mode: 'required', tools: [named] },
        {
          type: 'allowed_tools',
          allowed_tools: {
            mode: 'required',
            tools: [{ type: 'function', function: { name: 'look' } }],
          },
        },
      ],
    ] as const) {
      const other = { ...FUNCTION, name: 'other' }
      const body = chat({ tools: [FUNCTION, other], tool_choice: choice })
      t.strictSame(body.tool_choice, expected)
      t.equal((body.tools as object[]).length, 2)
    }
    const schema = { name: 'a', schema: { type: 'object' }, strict: true }
    t.strictSame(chat({ text: { format: { type: 'json_schema', ...schema } } }).response_format, {
      type: 'json_schema',
      json_schema: schema,
    })
    t.match(chat({ max_output_tokens: 5, include: ['message.output_text.logprobs'] }), {
      max_completion_tokens: 5,
      logprobs: true,
      top_logprobs: 0,
    })
  })

  t.test('with its errors in the names of the caller', async t => {
    for (const [param, expected] of [
      ['messages.0.content', 'input'],
      ['max_completion_tokens', 'max_output_tokens'],
      ['response_format.json_schema.schema', 'text.format.schema'],
      ['tools.0.function.parameters', 'tools.0.parameters'],
      ['tool_choice.allowed_tools.tools.1.function.name', 'tool_choice.tools.1.name'],
      ['temperature', 'temperature'],
    ] as const)
      t.equal(responsesParam(param), expected)
  })
})

t.test('an unsupported Responses request is refused by name', async t => {
  const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA' }
  const user = (content: unknown) => ({ role: 'user', content })
  const text = { type: 'input_text', text: 'a' }
  for (const [more, code, param] of [
    [{ input: [user([text, image])] }, 'unsupported_parameter', 'input.0.content.1'],
    [{ previous_response_id: 'resp_1' }, 'unsupported_parameter', 'previous_response_id'],
    [{ input: [{ type: 'item_reference', id: 'x' }] }, 'unsupported_parameter', 'input.0'],
    [{ tool_choice: { type: 'mcp' } }, 'unsupported_parameter', 'tool_choice'],
    [{ background: true }, 'unsupported_parameter', 'background'],
    [{ conversation: 'c' }, 'unsupported_parameter', 'conversation'],
    [{ reasoning: { effort: 'high' } }, 'unsupported_parameter', 'reasoning.effort'],
    [{ text: { verbosity: 'low' } }, 'unsupported_parameter', 'text.verbosity'],
    [{ input: [] }, 'invalid_request', 'input'],
    [{ input: [user('a'), { role: 'bad', content: 'a' }] }, 'invalid_request', 'input.1.role'],
    [{ input: [user([{ type: 'input_text' }])] }, 'invalid_request', 'input.0.content'],
    [{ input: [{ type: 'function_call', name: 'f' }] }, 'invalid_request', 'input.0.call_id'],
    [{ tools: [{ type: 'mcp' }, { type: 'function' }] }, 'invalid_request', 'tools.1.name'],
    [{ temperature: 3 }, 'invalid_request', 'temperature'],
    [{ text: { format: { type: 'xml' } } }, 'invalid_request', 'text.format.type'],
  ] as const)
    t.throws(() => parse(more), { code, param }, `${code} ${param}`)
  for (const fine of [
    { background: false, truncation: 'disabled', store: true, previous_response_id: null },
    { reasoning: { effort: null, summary: null }, text: { verbosity: 'medium' } },
    { prompt_cache_options: { mode: 'explicit', ttl: '30m' }, prompt_cache_retention: '24h' },
    { include: ['reasoning.encrypted_content'], stream_options: { include_obfuscation: false } },
  ])
    t.ok(parse(fine))
})

const HEAD = { id: 'resp_0', created: 5, model: 'm' }
const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

type Choice = ChatCompletionChunk['choices'][number]
const chunk = (delta: Choice['delta'], finish: Choice['finish_reason'] = null) => ({
  ...HEAD,
  object: 'chat.completion.chunk' as const,
  choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
})
const callDelta = (index: number, id: string, name: string) => ({
  tool_calls: [{ index, id, type: 'function' as const, function: { name, arguments: '' } }],
})
const argumentsDelta = (index: number, text: string) => ({
  tool_calls: [{ index, function: { arguments: text } }],
})

const eventsOf = (chunks: ChatCompletionChunk[], end: 'end' | 'fail' = 'end') => {
  const events = new ResponseEvents(parse({}), HEAD)
  const all = chunks.flatMap(one => events.chunk(one))
  if (end === 'end') return [...all, ...events.end(USAGE, 9)]
  return [...all, ...events.fail(new ShoalError('cell_unavailable', 'gone'))]
}
const types = (events: readonly ResponseEvent[]) =>
  events.map(({ type }) => type.replace('response.', ''))

t.test('the chunks of a chat completion become the events of a response', async t => {
  t.test('for a text', async t => {
    const events = eventsOf([
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: 'a' }),
      chunk({ content: 'b' }),
      chunk({}, 'stop'),
    ])
    t.strictSame(types(events), [
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ])
    t.strictSame(
      events.map(event => event.sequence_number),
      events.map((_, index) => index),
    )
    for (const event of events) t.strictSame(event, ResponseEvent.parse(event), event.type)
  })

  t.test('for a text and two calls, each item in its place', async t => {
    const events = eventsOf([
      chunk({ content: 'a' }),
      chunk(callDelta(0, 'c1', 'f')),
      chunk(argumentsDelta(0, '{"x":')),
      chunk(argumentsDelta(0, '1}')),
      chunk(callDelta(1, 'c2', 'g')),
      chunk(argumentsDelta(1, '{}')),
      chunk({}, 'tool_calls'),
    ])
    t.strictSame(types(events).slice(5), [
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ])
    const last = events.at(-1)
    t.match(last?.type === 'response.completed' && last.response, {
      status: 'completed',
      completed_at: 9,
      output: [
        { type: 'message', status: 'completed', content: [{ text: 'a' }] },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"x":1}' },
        { type: 'function_call', call_id: 'c2', name: 'g', arguments: '{}' },
      ],
      usage: {
        input_tokens: 3,
        input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
        output_tokens: 2,
        total_tokens: 5,
      },
    })
    const ids = events.flatMap(event => ('item' in event ? event.item.id : []))
    t.equal(new Set(ids).size, 3)
  })

  t.test('for an answer cut by its limit, which is incomplete', async t => {
    const events = eventsOf([chunk({ content: 'a' }), chunk({}, 'length')])
    const last = events.at(-1)
    t.match(last, {
      type: 'response.incomplete',
      response: {
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        output: [{ status: 'incomplete' }],
      },
    })
  })

  t.test('for an empty answer, which has an empty message', async t => {
    const events = eventsOf([chunk({ role: 'assistant', content: '' }), chunk({}, 'stop')])
    t.strictSame(types(events).slice(2), [
      'output_item.added',
      'content_part.added',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ])
  })

  t.test('for a broken answer, which has failed', async t => {
    const last = eventsOf([chunk({ content: 'a' })], 'fail').at(-1)
    t.match(last, {
      type: 'response.failed',
      response: {
        status: 'failed',
        error: { code: 'server_error', message: 'gone' },
        output: [{ status: 'incomplete' }],
      },
    })
  })
})

t.test('a complete completion with text and calls has an item for each', async t => {
  const call = { id: 'c1', type: 'function' as const, function: { name: 'f', arguments: '{}' } }
  const completion = (content: string | null, calls: (typeof call)[]) => ({
    ...HEAD,
    object: 'chat.completion' as const,
    choices: [
      {
        index: 0,
        message: { role: 'assistant' as const, content, refusal: null, tool_calls: calls },
        logprobs: null,
        finish_reason: 'length' as const,
      },
    ],
    usage: USAGE,
  })
  const items = (content: string | null, calls: (typeof call)[]) =>
    wholeResponse(parse({}), HEAD, completion(content, calls), 9).output.map(
      ({ id, type, status }) => `${id} ${type} ${status}`,
    )
  t.strictSame(items('a', []), ['msg_00 message incomplete'])
  t.strictSame(items('', []), ['msg_00 message incomplete'])
  t.strictSame(items(null, [call]), ['fc_00 function_call incomplete'])
  t.strictSame(items('a', [call, call]), [
    'msg_00 message completed',
    'fc_01 function_call completed',
    'fc_02 function_call incomplete',
  ])
})

/** The HTTP cases of the Open Responses compliance suite (openresponses.org), in our words. */
t.test('a cell answers like the Responses API', async t => {
  const service = await startService(t, [{ id: 'one', weights: 'bundled:shoal-demo-large' }])
  const port = await startInferenceServer(t, service)
  await waitUntilSettled(service)
  const ask = (body: object) =>
    call(port, 'POST', '/v1/responses', { model: 'one', temperature: 0, ...body })
  const askWhole = async (body: object): Promise<ModelResponse> => {
    const { status, json, usage } = await ask(body)
    t.equal(status, 200)
    t.strictSame(json, ModelResponse.parse(json), 'the exact shape')
    t.equal(json.usage.total_tokens, usage?.total_tokens)
    return json
  }
  const askStreamed = async (body: object): Promise<ResponseEvent[]> => {
    const { text } = await ask({ ...body, stream: true })
    const blocks = text.trimEnd().split('\n\n')
    t.equal(blocks.pop(), 'data: [DONE]')
    return blocks.map((block, index) => {
      const [name = '', data = ''] = block.split('\n')
      const event = JSON.parse(data.replace('data: ', ''))
      t.equal(name, `event: ${event.type}`)
      t.equal(event.sequence_number, index)
      t.strictSame(event, ResponseEvent.parse(event))
      return event
    })
  }
  const user = (content: unknown) => ({ type: 'message', role: 'user', content })
  const textOf = ({ output }: ModelResponse): string =>
    output.flatMap(item => (item.type === 'message' ? item.content : []))[0]?.text ?? ''

  t.test('to a message', async t => {
    const response = await askWhole({
      input: [user('What is a cell?')],
      metadata: { a: 'b' },
      store: true,
    })
    t.match(response, { status: 'completed', store: false, metadata: { a: 'b' }, tools: [] })
    t.match(textOf(response), /machine/)
    t.equal(textOf(await askWhole({ input: 'What is a cell?' })), textOf(response))
  })

  t.test('as a stream, with the same text', async t => {
    const events = await askStreamed({ input: [user('What is a cell?')] })
    const deltas = events.map(event =>
      event.type === 'response.output_text.delta' ? event.delta : '',
    )
    const last = events.at(-1)
    if (last?.type !== 'response.completed') return t.fail(`${last?.type}`)
    t.equal(deltas.join(''), textOf(last.response))
    t.ok((last.response.usage?.output_tokens ?? 0) > 0)
  })

  t.test('with a system message, or with instructions', async t => {
    const system = { type: 'message', role: 'system', content: 'Be brief.' }
    const first = await askWhole({ input: [system, user('What is a cell?')] })
    const second = await askWhole({ input: 'What is a cell?', instructions: 'Be brief.' })
    t.equal(first.usage?.input_tokens, second.usage?.input_tokens)
    t.equal(second.instructions, 'Be brief.')
  })

  t.test('to a conversation of several turns, with and without phases', async t => {
    for (const phase of [{}, { phase: 'final_answer' }, { phase: 'commentary' }]) {
      const before = { type: 'message', role: 'assistant', content: 'Hello Alice!', ...phase }
      const response = await askWhole({
        input: [user('My name is Alice.'), before, user('What is my name?')],
      })
      t.equal(response.status, 'completed')
      t.equal(response.output.length, 1)
    }
  })

  t.test('with a function call, and continues with its result', async t => {
    const tools = [FUNCTION]
    const response = await askWhole({ input: 'Look!', tools, tool_choice: 'required' })
    const [called] = response.output
    if (called?.type !== 'function_call') return t.fail('no call')
    t.equal(called.name, 'look')
    t.type(JSON.parse(called.arguments).deep, 'boolean')
    t.match(response.tools, [{ name: 'look', strict: null }])
    const output = { type: 'function_call_output', call_id: called.call_id, output: '3 cells' }
    const next = await askWhole({
      input: [user('Look!'), called, output],
      tools,
      tool_choice: 'none',
    })
    t.equal(next.output[0]?.type, 'message')
    const alone = await askWhole({ input: 'Look!' })
    t.ok((next.usage?.input_tokens ?? 0) > (alone.usage?.input_tokens ?? 0), 'it reads the result')
  })

  t.test('with a function call in a stream', async t => {
    const tool_choice = { type: 'function', name: 'look' }
    const events = await askStreamed({ input: 'Look!', tools: [FUNCTION], tool_choice })
    const pieces = events.map(event =>
      event.type === 'response.function_call_arguments.delta' ? event.delta : '',
    )
    t.type(JSON.parse(pieces.join('')).deep, 'boolean')
    const done = events.find(event => event.type === 'response.output_item.done')
    t.match(done, { item: { type: 'function_call', name: 'look', status: 'completed' } })
  })

  t.test('with an object of a schema', async t => {
    const schema = {
      type: 'object',
      properties: { kind: { enum: ['cell', 'robot'] } },
      required: ['kind'],
      additionalProperties: false,
    }
    const format = { type: 'json_schema', name: 'kind', schema }
    const response = await askWhole({ input: 'What is a cell?', text: { format } })
    t.match(JSON.parse(textOf(response)).kind, /^(cell|robot)$/)
    t.strictSame(response.text.format, format)
  })

  t.test('with a refusal of an image, as the models read text', async t => {
    const content = [
      { type: 'input_text', text: 'What is it?' },
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA' },
    ]
    const { status, json } = await ask({ input: [user(content)] })
    t.equal(status, 422)
    t.match(json.error, { code: 'unsupported_parameter', param: 'input.0.content.1' })
  })

  t.test('with a length error in the terms of the caller', async t => {
    for (const stream of [false, true]) {
      const { status, json } = await ask({ input: 'word '.repeat(3000), stream })
      t.equal(status, 400)
      t.match(json.error, { code: 'context_length_exceeded', param: 'input' })
    }
  })

  t.test('with the judgement and usage of a chat answer', async t => {
    const askJudged = async (body: object) => {
      const headers = { 'x-shoal-judge': '4' }
      const request = { model: 'one', temperature: 0, input: 'What is a cell?', ...body }
      return call(port, 'POST', '/v1/responses', request, headers)
    }
    const plain = await askWhole({ input: 'What is a cell?' })
    for (const stream of [false, true]) {
      const { headers } = await askJudged({ stream })
      t.ok(Number(headers['x-shoal-confidence']) < 0)
      const usage = JSON.parse(String(headers['x-shoal-usage-so-far'] ?? null))
      const expected = { prompt_tokens: plain.usage?.input_tokens, completion_tokens: 4 }
      if (stream) t.match(usage, expected)
      else t.equal(usage, null, 'a whole answer has its trailer')
    }
  })

  t.test('with log-probabilities when they are requested', async t => {
    const response = await askWhole({
      input: 'What is a cell?',
      max_output_tokens: 2,
      top_logprobs: 1,
    })
    t.equal(response.status, 'incomplete')
    const part = response.output.flatMap(item => (item.type === 'message' ? item.content : []))[0]
    t.equal(part?.logprobs.map(({ token }) => token).join(''), part?.text)
    t.equal(part?.logprobs[0]?.top_logprobs.length, 1)
  })
})
