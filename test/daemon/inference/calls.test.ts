import { join } from 'node:path'
import { getLlama, type Llama, LlamaLogLevel } from 'node-llama-cpp'
import OpenAI from 'openai'
import t from 'tap'
import { AnswerHold } from '../../../daemon/inference/child/answer-hold.ts'
import { CallWatch } from '../../../daemon/inference/child/call-watch.ts'
import { UnservableError } from '../../../daemon/inference/child/unservable-error.ts'
import {
  wholeGrammar,
  writeHeldArguments,
  writeHeldGrammar,
} from '../../../daemon/inference/grammar/call-grammar.ts'
import { Rules } from '../../../daemon/inference/grammar/rules.ts'
import { callRules } from '../../../daemon/inference/openai/call-rules.ts'
import { CallSplitter } from '../../../daemon/inference/openai/call-splitter.ts'
import { Choice } from '../../../daemon/inference/openai/choice.ts'
import type { CallRules } from '../../../daemon/inference/protocol.ts'
import { type CallShape, callShapeOf } from '../../../daemon/inference/tool-syntax.ts'
import { writeRandomModel } from '../../../models/gguf/random-model.ts'
import { SMALL } from './fixtures.ts'
import {
  CHAT,
  call,
  createChatBody,
  startInferenceServer,
  startService,
  waitUntilSettled,
} from './peers.ts'

const WEATHER = {
  name: 'get_weather',
  parameters: {
    type: 'object',
    properties: { city: { type: 'string', maxLength: 8 }, unit: { enum: ['c', 'f'] } },
    required: ['city', 'unit'],
  },
}
const TIME = { name: 'get', parameters: { type: 'object', properties: {} } }
const rulesOf = (parallel: boolean): CallRules =>
  callRules({ tools: [WEATHER, TIME], places: [0, 1], forced: undefined, parallel }, new Rules())

const ARGS = '{"city": "Bonn } ]", "unit": "c"}'
const WRONG = '{"city": "Bonn", "unit": "k"}'

/** One call, and two of them, as each shape writes them. */
const WRITTEN: Record<CallShape, { one: (args: string) => string; two: string }> = {
  hermes: {
    one: args => `<tool_call>\n{"name": "get_weather", "arguments": ${args}}\n</tool_call>`,
    two: `<tool_call>\n{"name": "get_weather", "arguments": ${ARGS}}\n</tool_call>\n<tool_call>\n{"name": "get", "arguments": {}}\n</tool_call>`,
  },
  llama: {
    one: args => `{"name": "get_weather", "parameters": ${args}}`,
    two: `{"name": "get_weather", "parameters": ${ARGS}}; {"name": "get", "parameters": {}}`,
  },
  mistral: {
    one: args => `[TOOL_CALLS][{"name": "get_weather", "arguments": ${args}}]`,
    two: `[TOOL_CALLS][{"name": "get_weather", "arguments": ${ARGS}}, {"name": "get", "arguments": {}}]`,
  },
  'mistral-args': {
    one: args => `[TOOL_CALLS]get_weather[ARGS]${args}`,
    two: `[TOOL_CALLS]get_weather[ARGS]${ARGS}[TOOL_CALLS]get[ARGS]{}`,
  },
}
const SHAPES = Object.keys(WRITTEN) as CallShape[]

t.test('the call format is read from the chat template', async t => {
  for (const [title, template, shape] of [
    ['Qwen and Hermes', "{{ '<tool_call>\\n' + call | tojson }}", 'hermes'],
    ['Llama 3.1', `Environment: ipython {"name": f, "parameters": d} <|python_tag|>`, 'llama'],
    ['Llama 3.2', `role == "ipython" {'"parameters": '}`, 'llama'],
    ['Mistral', "{{ '[TOOL_CALLS] [' }}{{ '[TOOL_RESULTS]' }}", 'mistral'],
    ['newer Mistral', "{{ '[TOOL_CALLS]' + name + '[ARGS]' }}", 'mistral-args'],
    ['calls that are no JSON', "{{ '<tool_call>\\n<function=' + name }}", undefined],
    ['no tools', "{{ '<|im_start|>' + message.content }}", undefined],
  ] as const)
    t.test(title, async t => t.equal(callShapeOf(template), shape))
})

/** Parts of a text cut into pieces of this size; adjacent contents are joined. */
const split = (shape: CallShape, text: string, size: number): string[] => {
  const splitter = new CallSplitter(['get_weather', 'get'], shape)
  const parts = []
  for (let at = 0; at < text.length; at += size)
    parts.push(...splitter.push(text.slice(at, at + size)))
  parts.push(...splitter.end())
  let told = ''
  let last = ''
  for (const part of parts) {
    if (part.type === 'content')
      t.equal(part.text.trim(), text.substr(part.at, part.text.length).trim())
    if (part.type === 'call') told += `|${part.name}:`
    else
      told += part.type === last ? part.text : `${part.type === 'content' ? '|' : ''}${part.text}`
    last = part.type
  }
  return told.split('|').filter(one => one.trim() !== '')
}

t.test('calls are found in the text of an answer', async t => {
  for (const shape of SHAPES)
    for (const size of [1, 5, 1000])
      t.test(`as ${shape}, in pieces of ${size}`, async t => {
        const { one, two } = WRITTEN[shape]
        t.strictSame(split(shape, one(ARGS), size), [`get_weather:${ARGS}`])
        t.strictSame(split(shape, two, size), [`get_weather:${ARGS}`, 'get:{}'])
        const unknown = one('{}').replace('get_weather', 'unknown')
        t.strictSame(split(shape, unknown, size), [unknown], 'an unknown function is text')
      })
  t.test('after text', async t => {
    for (const shape of ['hermes', 'mistral', 'mistral-args'] as const)
      t.strictSame(split(shape, `Wait. ${WRITTEN[shape].one('{}')}`, 3), [
        'Wait.',
        'get_weather:{}',
      ])
    const marked = `Wait. <|python_tag|>${WRITTEN.llama.one('{}')}`
    t.strictSame(split('llama', marked, 3), ['Wait.', 'get_weather:{}'])
  })
  t.test('with the ids of Mistral', async t => {
    const list =
      '[TOOL_CALLS] [{"name": "get", "arguments": {}, "id": "abcdefghi"}, {"name": "get", "arguments": {}}]'
    t.strictSame(split('mistral', list, 1), ['get:{}', 'get:{}'])
    t.strictSame(split('mistral-args', '[TOOL_CALLS]get[CALL_ID]abcdefghi[ARGS]{}', 1), ['get:{}'])
  })
  t.test('and other JSON is not held back', async t => {
    const splitter = new CallSplitter(['get'], 'llama')
    t.strictSame(splitter.push(' {"na'), [])
    t.match(splitter.push('tion": '), [{ type: 'content', text: ' {"nation": ', at: 0 }])
    t.match(splitter.push('{"name": "get"'), [{ type: 'content', at: 12 }])
  })
})

t.test('a call that the model starts is completed under a grammar', async t => {
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error })
  t.teardown(() => llama.dispose())
  for (const shape of SHAPES) {
    for (const size of [1, 4, 1000])
      t.test(`as ${shape}, from its beginning to its end, in pieces of ${size}`, async t => {
        const text = WRITTEN[shape].one(ARGS)
        t.ok(await isHeld(llama, shape, text, size))
        if (size < 1000) t.notOk(await isHeld(llama, shape, WRITTEN[shape].one(WRONG), size))
      })
    t.test(`as ${shape}, whatever white space the model writes`, async t => {
      const spaced = WRITTEN[shape].one(ARGS).replace('{"', '{\n  "').replace('name":', 'name" :')
      t.ok(await isHeld(llama, shape, spaced, 1))
    })
    t.test(`as ${shape}, also when it is forced`, async t => {
      const takes = await createTester(llama, wholeGrammar(shape, rulesOf(true)))
      const { one, two } = WRITTEN[shape]
      t.ok(takes(one(ARGS)))
      t.notOk(takes(one(WRONG)))
      t.equal(takes(two), shape !== 'llama')
      const single = await createTester(llama, wholeGrammar(shape, rulesOf(false)))
      t.strictSame([single(one(ARGS)), single(two)], [true, false])
    })
  }
  t.test('unless other text follows the mark', async t => {
    t.equal(writeHeldGrammar('hermes', rulesOf(true), '<function=f>'), undefined)
    t.equal(writeHeldArguments('llama', rulesOf(true), 'r0', ', "other"'), undefined)
  })
})

interface TestedGrammar {
  _testText(text: string): boolean
}

const createTester = async (llama: Llama, text: string): Promise<(text: string) => boolean> => {
  const grammar = (await llama.createGrammar({ grammar: text })) as unknown as TestedGrammar
  return written => grammar._testText(written)
}

/**
 * True when the watch engages, its grammar accepts the rest, and it ends with the last character.
 */
const isHeld = async (llama: Llama, shape: CallShape, text: string, size: number) => {
  const watch = new CallWatch(shape, rulesOf(false))
  let takes: ((text: string) => boolean) | undefined
  let heldText = ''
  let released = false
  for (let at = 0; at < text.length; at += size) {
    const piece = text.slice(at, at + size)
    if (takes) heldText += piece
    const turn = watch.push(piece)
    if (turn?.type === 'hold') takes = await createTester(llama, turn.grammar)
    if (turn?.type === 'release') released = at + size >= text.length
  }
  // one piece holds all of it: there is nothing left to hold
  if (size >= text.length) return takes === undefined
  return released && (takes?.(heldText) ?? false)
}

t.test('the watch for calls', async t => {
  t.test('ignores other text', async t => {
    const watch = new CallWatch('llama', rulesOf(true))
    const text = '{"name": "Bob", "parameters": 1} and {"name": "get"'
    t.strictSame(
      [...text].flatMap(each => watch.push(each) ?? []),
      [],
    )
  })
  t.test('catches each call of an answer', async t => {
    for (const shape of ['hermes', 'llama', 'mistral-args'] as const) {
      const watch = new CallWatch(shape, rulesOf(true))
      const turns = [...WRITTEN[shape].two].flatMap(each => watch.push(each)?.type ?? [])
      t.strictSame(turns, ['hold', 'release', 'hold', 'release'], shape)
    }
  })
})

t.test('log-probabilities cover the text beside calls', async t => {
  const token = (text: string) => ({ text, logprob: -1, top: [] })
  const pieces = [
    'So',
    ' be',
    ' it',
    '.\n',
    '<tool',
    '_call>{"name": "get", "arg',
    'uments": {}}</tool_call>',
  ]
  const choice = new Choice({ names: ['get'], most: 1 }, () => 'id')
  choice.start('hermes')
  const deltas = pieces.flatMap(text => choice.take(text, [token(text)]))
  const contents = [...deltas, ...choice.end('stop').deltas].filter(
    ({ type }) => type === 'content',
  )
  t.strictSame(
    contents
      .flatMap(delta => (delta.type === 'content' ? delta.tokens : []))
      .map(({ text }) => text),
    ['So', ' be', ' it', '.\n'],
  )
})

t.test('a call that a stop string has cut is not reported as a call', async t => {
  for (const shape of SHAPES) {
    const choice = new Choice({ names: ['get', 'get_weather'], most: 9 }, () => 'id')
    choice.start(shape)
    const whole = WRITTEN[shape].one(ARGS)
    choice.take(whole.slice(0, whole.indexOf(ARGS) + ARGS.length - 1), [])
    t.equal(choice.end('stop').finish, 'stop', shape)
  }
  const choice = new Choice({ names: ['get_weather'], most: 9 }, () => 'id')
  choice.start('hermes')
  choice.take(WRITTEN.hermes.one(ARGS).replace('</tool_call>', ''), [])
  t.equal(choice.end('stop').finish, 'tool_calls', 'all of it is there but the mark of its end')
})

t.test('calls beyond the first are dropped where only one is allowed', async t => {
  const choice = new Choice({ names: ['get', 'get_weather'], most: 1 }, () => 'id')
  choice.start('hermes')
  const deltas = choice.take(WRITTEN.hermes.two, [])
  t.match(deltas, [{ type: 'call', name: 'get_weather' }, { type: 'arguments' }])
})

t.test('a failure during grammar sampling is blamed on the request; others are not', async t => {
  const model = { llama: { createGrammar: async () => ({}) } }
  const free = await AnswerHold.create(model as never, {}, 'hermes')
  t.equal(free, undefined)
  const hold = (await AnswerHold.create(
    model as never,
    { calls: rulesOf(true) },
    'hermes',
  )) as AnswerHold
  const fault = new Error('eval has failed')
  t.equal(hold.grammarEvaluationState(), undefined)
  t.equal(hold.blame(fault), fault, 'nothing is held yet')
  t.notOk(hold.blame(fault) instanceof UnservableError)
})

t.test('a failure under a grammar is blamed on the request from the first token on', async t => {
  const modelPath = join(t.testdir(), 'small.gguf')
  writeRandomModel(modelPath, SMALL)
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error })
  t.teardown(() => llama.dispose())
  const model = await llama.loadModel({ modelPath })
  const grammar = { text: 'root ::= "a"', param: 'response_format' }
  const hold = (await AnswerHold.create(model, { grammar }, 'hermes')) as AnswerHold
  const fault = new Error('it has failed')
  t.equal(hold.blame(fault), fault, 'while the prompt is read')
  t.ok(hold.grammarEvaluationState())
  t.match(hold.blame(fault), { code: 'invalid_request', param: 'response_format' })
  hold.follow('a')
  t.equal(hold.blame(fault), fault, 'while the token is computed with')
  await t.rejects(
    AnswerHold.create(model, { grammar: { ...grammar, text: 'root ::= unknown-rule' } }, 'hermes'),
    {
      code: 'unsupported_parameter',
      param: 'response_format',
    },
  )
})

const words = ['<tool_call>']
const BEGIN_CALL = String(SMALL.vocabularySize - 1)

t.test('a model that calls by itself', async t => {
  const file = join(t.testdir(), 'caller.gguf')
  writeRandomModel(file, { ...SMALL, words })
  const service = await startService(t, [{ id: 'one', weights: file }], { slots: 2 })
  await waitUntilSettled(service)
  const port = await startInferenceServer(t, service)
  const tools = [{ type: 'function', function: WEATHER }]
  /** Nothing but the beginning of a call is written where anything may be. */
  const body = { tools, max_tokens: 1000, logit_bias: { [BEGIN_CALL]: 100 }, temperature: 1.5 }
  const checkCalls = (calls: { function: { name: string; arguments: string } }[]) => {
    for (const { function: made } of calls) {
      t.equal(made.name, 'get_weather')
      t.match(JSON.parse(made.arguments), { city: /^.{0,8}$/su, unit: /^[cf]$/ })
    }
  }
  t.test('writes arguments of the schema', async t => {
    for (const seed of [1, 2, 3]) {
      const { json } = await call(
        ...([
          port,
          'POST',
          CHAT,
          createChatBody('hi', { ...body, seed, parallel_tool_calls: false }),
        ] as const),
      )
      const [{ message, finish_reason }] = json.choices
      t.equal(message.tool_calls?.length, 1)
      t.equal(finish_reason, 'tool_calls')
      checkCalls(message.tool_calls)
    }
  })
  t.test('calls any number of times, also in a stream', async t => {
    const client = new OpenAI({
      baseURL: `http://127.0.0.1:${port}/v1`,
      apiKey: 'any',
      maxRetries: 0,
    })
    const stream = client.chat.completions.stream({
      model: 'one',
      messages: [{ role: 'user', content: 'hi' }],
      ...body,
      seed: 5,
      tools: [{ type: 'function', function: WEATHER }],
    })
    let pieces = 0
    for await (const { choices } of stream) pieces += choices[0]?.delta.tool_calls?.length ?? 0
    const { message } = (await stream.finalChatCompletion())
      .choices[0] as OpenAI.Chat.ChatCompletion.Choice
    const made = (message.tool_calls ?? []).filter(each => each.type === 'function')
    t.ok(made.length > 1, 'several calls')
    t.ok(pieces > 2 * made.length, 'in pieces')
    // the last one may have been cut off
    checkCalls(made.slice(0, -1))
  })
  t.test('returns log-probabilities of the text beside calls', async t => {
    const more = { tools, logprobs: true, max_tokens: 6 }
    const { json } = await call(port, 'POST', CHAT, createChatBody('hi', more))
    const [{ message, logprobs }] = json.choices
    t.ok(message.content.length > 0)
    t.equal(logprobs.content.map((one: { token: string }) => one.token).join(''), message.content)
  })
  t.test('accepts a schema that no grammar can express', async t => {
    const parameters = { type: 'object', properties: { a: { type: 'string', pattern: 'x' } } }
    const odd = [{ type: 'function', function: { name: 'f', parameters } }]
    const { status, json } = await call(
      ...([
        port,
        'POST',
        CHAT,
        createChatBody('hi', { ...body, tools: odd, parallel_tool_calls: false }),
      ] as const),
    )
    t.equal(status, 200)
    t.equal(json.choices[0].message.tool_calls?.[0].function.name, 'f')
  })
})
