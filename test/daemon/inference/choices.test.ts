import t from 'tap'
import type { SlotRequest } from '../../../daemon/inference/admission.ts'
import { TokenTrail } from '../../../daemon/inference/child/token-trail.ts'
import type { EngineEvent, JobWork } from '../../../daemon/inference/jobs.ts'
import { answerGrammar } from '../../../daemon/inference/openai/answer-grammar.ts'
import { type AnswerPart, CallSplitter } from '../../../daemon/inference/openai/call-splitter.ts'
import { Choices, type ChoicesListener } from '../../../daemon/inference/openai/choices.ts'
import { Judge } from '../../../daemon/inference/openai/judge.ts'
import { choiceLogprobs } from '../../../daemon/inference/openai/logprobs.ts'
import { activeTools } from '../../../daemon/inference/openai/tools.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { CHAT_RULES } from '../../../shared/wire/chat-rules.ts'
import { readRequest } from '../../../shared/wire/read-request.ts'

/** A part without its place. */
type Plain = { type: 'content'; text: string } | Exclude<AnswerPart, { type: 'content' }>

/** Neighbours of one kind as one: how a text was cut does not matter. */
const joinParts = (parts: readonly AnswerPart[]): Plain[] => {
  const all: Plain[] = []
  for (const whole of parts) {
    const part = whole.type === 'content' ? content(whole.text) : whole
    const last = all.at(-1)
    if (last?.type === 'content' && part.type === 'content') last.text += part.text
    else if (last?.type === 'arguments' && part.type === 'arguments') last.text += part.text
    else all.push({ ...part })
  }
  return all
}

const content = (text: string): Plain => ({ type: 'content', text })
const call = (name: string, args: string): AnswerPart[] => [
  { type: 'call', name },
  { type: 'arguments', text: args },
]
const hermes = (name: string, args: string): string =>
  `<tool_call>\n{"name": "${name}", "arguments": ${args}}\n</tool_call>`

t.test('calls in a text are found however it is split:', async t => {
  for (const { title, text, parts } of [
    { title: 'none', text: 'a < b\n', parts: [content('a < b\n')] },
    {
      title: 'one with brackets in its texts',
      text: hermes('f', '{"a": "}{\\"", "b": [{}]}'),
      parts: call('f', '{"a": "}{\\"", "b": [{}]}'),
    },
    {
      title: 'two after a text',
      text: `Let me see.\n\n${hermes('f', '{}')}\n${hermes('g', '{"a":1}')}`,
      parts: [content('Let me see.'), ...call('f', '{}'), ...call('g', '{"a":1}')],
    },
    {
      title: 'one with its arguments first',
      text: '<tool_call>{"arguments": {"a": 1}, "name": "f"}</tool_call>',
      parts: call('f', '{"a":1}'),
    },
    {
      title: 'one whose arguments are a text',
      text: '<tool_call>{"name": "f", "arguments": "{\\"a\\":1}"}</tool_call>',
      parts: call('f', '{"a":1}'),
    },
    {
      title: 'one that ends without its mark',
      text: '<tool_call>{"name": "f"}',
      parts: call('f', '{}'),
    },
    {
      title: 'one that is cut off',
      text: '<tool_call>{"name": "f", "arguments": {"a": "b',
      parts: call('f', '{"a": "b'),
    },
    {
      title: 'an unknown function is text',
      text: `so ${hermes('h', '{}')}!`,
      parts: [content(`so ${hermes('h', '{}')}!`)],
    },
    {
      title: 'what is no JSON is text',
      text: 'a\n<tool_call><function=f></tool_call> x',
      parts: [content('a\n<tool_call><function=f></tool_call> x')],
    },
    { title: 'the beginning of a mark is text', text: 'a <tool', parts: [content('a <tool')] },
    {
      title: 'one that never comes to its name is text',
      text: ` <tool_call>${'x'.repeat(20_000)}`,
      parts: [content(` <tool_call>${'x'.repeat(20_000)}`)],
    },
    {
      title: 'much white space is text',
      text: `a${'\n'.repeat(2000)}`,
      parts: [content(`a${'\n'.repeat(2000)}`)],
    },
  ]) {
    t.test(title, async t => {
      for (const size of [1, 7, text.length]) {
        const splitter = new CallSplitter(['f', 'g'])
        const seen: AnswerPart[] = []
        for (let at = 0; at < text.length; at += size)
          seen.push(...splitter.push(text.slice(at, at + size)))
        t.strictSame(joinParts([...seen, ...splitter.end()]), parts, `in pieces of ${size}`)
      }
    })
  }
  t.test('the name is sent before the arguments are complete', async t => {
    const splitter = new CallSplitter(['f'])
    t.strictSame(splitter.push('<tool_call>{"name": "f", "arguments": {"a'), call('f', '{"a'))
    t.strictSame(splitter.push('": 1'), [{ type: 'arguments', text: '": 1' }])
  })
})

t.test('tokens stay in step with the visible text', async t => {
  const token = (text: string) => ({ text, logprob: -1, top: [] })
  const texts = (tokens: readonly { text: string }[]) => tokens.map(({ text }) => text)
  t.test('when it is held back', async t => {
    const trail = new TokenTrail()
    trail.push(token('ab'))
    t.strictSame(texts(trail.show('a')), [])
    trail.push(token('cd'))
    t.strictSame(texts(trail.show('bc')), ['ab'])
    t.strictSame(texts(trail.show('d')), ['cd'])
    t.strictSame(texts(trail.end()), [])
  })
  t.test('when it is cut at a stop string', async t => {
    const trail = new TokenTrail()
    for (const text of ['ab', 'cd', 'ef']) trail.push(token(text))
    t.strictSame(texts([...trail.show('abc'), ...trail.end()]), ['ab', 'c'])
  })
  t.test('when a character has several tokens', async t => {
    const trail = new TokenTrail()
    for (const text of ['a', '', '€']) trail.push(token(text))
    t.strictSame(texts([...trail.show('a€'), ...trail.end()]), ['a', '', '€'])
  })
})

t.test('log-probabilities have the shape of OpenAI', async t => {
  const top = [{ text: '\uFFFD', logprob: -9999 }]
  t.strictSame(choiceLogprobs([{ text: 'é', logprob: -0.5, top }]), {
    content: [
      {
        token: 'é',
        logprob: -0.5,
        bytes: [0xc3, 0xa9],
        top_logprobs: [{ token: '\uFFFD', logprob: -9999, bytes: null }],
      },
    ],
    refusal: null,
  })
})

t.test('the judgement of an answer', async t => {
  const token = (logprob: number) => ({ text: 'a', logprob, top: [] })
  t.test('waits for the requested number of tokens of the first choice', async t => {
    const judge = new Judge(2)
    judge.take(1, [token(-9), token(-9)])
    t.equal(judge.decided, false)
    judge.take(0, [token(-1)])
    t.equal(judge.decided, false)
    judge.take(0, [token(-2)])
    judge.take(0, [token(-9)])
    t.equal(judge.decided, true)
    t.strictSame(judge.headers(), [['x-shoal-confidence', '-1.500000']])
  })
  t.test('covers a shorter answer too', async t => {
    const judge = new Judge(2)
    judge.take(0, [token(-1)])
    judge.end()
    t.equal(judge.decided, true)
    t.strictSame(judge.headers(), [['x-shoal-confidence', '-1.000000']])
  })
  t.test('is absent when it is not requested or the answer is empty', async t => {
    const judge = new Judge(undefined)
    judge.take(0, [token(-1)])
    t.strictSame([judge.decided, judge.headers()], [true, []])
  })
})

t.test('several answers to one request', async t => {
  const WORK: JobWork = { type: 'embed', inputs: [], contextLength: 1 }
  const setup = (count: number) => {
    const heard: unknown[] = []
    const jobs: { follows: boolean | undefined; hear: (event: EngineEvent) => void }[] = []
    let cancelled = 0
    const listener: ChoicesListener = {
      onStart: facts => heard.push(['start', facts]),
      onTokens: () => {},
      onDelta: (index, delta) => heard.push([index, delta]),
      onFinish: (index, finish) => heard.push([index, finish]),
      onEnd: usage => heard.push(['end', usage]),
      onError: error => heard.push(['error', error.code]),
    }
    const submit = (
      _: JobWork,
      __: number,
      hear: (event: EngineEvent) => void,
      how: SlotRequest = {},
    ) => {
      jobs.push({ follows: how.follows, hear })
      return () => {
        cancelled++
      }
    }
    const options = { works: Array(count).fill(WORK), bytes: 1, callable: undefined }
    const choices = new Choices({ engine: { submit }, newId: () => 'id', ...options }, listener)
    const send = (job: number, event: Record<string, unknown>) =>
      jobs[job]?.hear({ job, ...event } as EngineEvent)
    return { heard, jobs, send, choices, cancelled: () => cancelled }
  }
  const START = { type: 'start', promptTokens: 5, cachedTokens: 1, maxTokens: 9 }

  t.test('count the prompt once and all their tokens', async t => {
    const { heard, jobs, send } = setup(2)
    t.strictSame(
      jobs.map(({ follows }) => follows),
      [false, true],
      'only the first may be refused',
    )
    send(0, START)
    send(1, { ...START, cachedTokens: 4 })
    send(1, { type: 'text', text: 'b' })
    send(0, { type: 'text', text: 'a' })
    send(1, { type: 'end', reason: 'stop', completionTokens: 3 })
    send(0, { type: 'end', reason: 'length', completionTokens: 4 })
    t.strictSame(heard, [
      ['start', { maxTokens: 9, promptTokens: 5 }],
      [1, { type: 'content', text: 'b', tokens: [] }],
      [0, { type: 'content', text: 'a', tokens: [] }],
      [1, 'stop'],
      [0, 'length'],
      [
        'end',
        {
          prompt_tokens: 5,
          completion_tokens: 7,
          total_tokens: 12,
          prompt_tokens_details: { cached_tokens: 1 },
        },
      ],
    ])
  })
  t.test('fail together', async t => {
    const { heard, send, cancelled } = setup(3)
    send(0, START)
    send(1, { type: 'error', error: new ShoalError('cell_unavailable', 'gone') })
    send(0, { type: 'text', text: 'a' })
    t.strictSame(heard.slice(1), [['error', 'cell_unavailable']])
    t.equal(cancelled(), 3)
  })
  t.test('are cancelled together', async t => {
    const { heard, send, choices, cancelled } = setup(2)
    choices.cancel()
    send(0, START)
    t.strictSame([heard, cancelled()], [[], 2])
  })
})

const TOOLS = [
  { type: 'function', function: { name: 'f', parameters: { type: 'object', properties: {} } } },
  { type: 'function', function: { name: 'g', description: 'does g', strict: true } },
]
const createFunctionChoice = (name: string) => ({ type: 'function', function: { name } })
const parse = (more: Record<string, unknown>) =>
  readRequest(CHAT_RULES, {
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    ...more,
  }).request

t.test('the callable functions', async t => {
  const active = (more: Record<string, unknown>) => activeTools(parse(more))
  t.test('follow from tools and tool_choice', async t => {
    t.match(active({ tools: TOOLS }), { forced: undefined, parallel: true })
    t.match(active({ tools: TOOLS, tool_choice: 'required' }), { forced: [0, 1] })
    const named = { type: 'function', function: { name: 'g' } }
    const parallel_tool_calls = false
    t.match(active({ tools: TOOLS, tool_choice: named, parallel_tool_calls }), {
      tools: [{ name: 'f' }, { name: 'g', description: 'does g' }],
      forced: [1],
      parallel: false,
    })
    for (const none of [{}, { tools: [] }, { tools: TOOLS, tool_choice: 'none' }])
      t.equal(active(none), undefined)
  })
  t.test('may be narrowed by tool_choice, and keep their place in the request', async t => {
    const allow = (mode: string, ...names: string[]) => ({
      type: 'allowed_tools',
      allowed_tools: { mode, tools: names.map(createFunctionChoice) },
    })
    const strange = { type: 'function', function: { name: 'h', parameters: { not: {} } } }
    const tools = [...TOOLS, strange]
    t.match(active({ tools, tool_choice: allow('auto', 'g') }), {
      tools: [{ name: 'g' }],
      places: [1],
      forced: undefined,
    })
    t.match(active({ tools, tool_choice: allow('required', 'h', 'g', 'h') }), {
      tools: [{ name: 'g' }, { name: 'h' }],
      places: [1, 2],
      forced: [0, 1],
    })
    const param = 'tool_choice.allowed_tools.tools.1.function.name'
    t.throws(() => active({ tools, tool_choice: allow('auto', 'f', 'x') }), {
      code: 'invalid_request',
      param,
    })
    const forced = parse({ tools, tool_choice: allow('required', 'h') })
    t.throws(() => answerGrammar(undefined, activeTools(forced)), {
      code: 'unsupported_parameter',
      param: 'tools.2.function.parameters.not',
    })
  })
  t.test('must exist and have distinct names', async t => {
    for (const [more, param] of [
      [{ tool_choice: 'required' }, 'tool_choice'],
      [
        { tools: TOOLS, tool_choice: { type: 'function', function: { name: 'h' } } },
        'tool_choice.function.name',
      ],
      [{ tools: [TOOLS[0], TOOLS[0]] }, 'tools.1.function.name'],
    ] as const)
      t.throws(() => active(more), { code: 'invalid_request', param })
  })
})

t.test('the grammar of an answer', async t => {
  const grammar = (more: Record<string, unknown>) => {
    const request = parse(more)
    return answerGrammar(request.response_format, activeTools(request))
  }
  const json = { type: 'json_schema', json_schema: { name: 'x', schema: { type: 'null' } } }
  t.test('exists only when a format is requested', async t => {
    for (const free of [{}, { response_format: { type: 'text' } }]) t.strictSame(grammar(free), {})
    const held = grammar({ response_format: { type: 'json_object' } })
    t.match(held, { grammar: { param: 'response_format' } })
    const functions = [{ name: 'f' }, { name: 'g' }]
    t.match(grammar({ tools: TOOLS, tool_choice: 'required' }), {
      calls: { param: 'tools', functions, whole: true, parallel: true },
    })
    const free = grammar({ tools: TOOLS })
    t.match(free, { calls: { param: 'tools', functions } })
    t.equal(free.calls?.whole, undefined, 'the model may call or not')
  })
  t.test('is cached for repeated tools only', async t => {
    const calls = (more: Record<string, unknown>) => grammar({ tools: TOOLS, ...more }).calls
    t.equal(calls({}), calls({}))
    t.not(calls({}), calls({ parallel_tool_calls: false }))
    t.equal(calls({ parallel_tool_calls: false })?.parallel, false)
    t.match(grammar({ tools: TOOLS.slice(1) }).calls?.functions, [{ name: 'g' }])
    const names = (index: number) =>
      grammar({ tools: [createFunctionChoice(`t${index}`)] }).calls?.functions
    for (let index = 0; index < 40; index++) t.match(names(index), [{ name: `t${index}` }])
  })
  t.test('allows calls beside the format when both are requested', async t => {
    const { calls, grammar: none } = grammar({ tools: TOOLS, response_format: json })
    t.match(calls, { whole: true, instead: 'r0', param: 'response_format' })
    t.equal(none, undefined)
  })
  t.test('names the place of an unsupported element', async t => {
    const schema = { type: 'object', properties: { a: { type: 'string', pattern: 'x' } } }
    const tool = { type: 'function', function: { name: 'f', parameters: schema } }
    const code = 'unsupported_parameter'
    t.throws(() => grammar({ tools: [tool], tool_choice: 'required' }), {
      code,
      param: 'tools.0.function.parameters.properties.a.pattern',
    })
    const free = grammar({ tools: [tool] }).calls
    t.match(free?.functions, [{ name: 'f' }], 'a model that chooses freely is held to an object')
    const wrong = { ...tool, function: { name: 'f', parameters: { type: 'thing' } } }
    t.match(grammar({ tools: [wrong] }).calls?.functions, [{ name: 'f' }])
    const json_schema = { name: 'x', schema }
    t.throws(() => grammar({ response_format: { type: 'json_schema', json_schema } }), {
      code,
      param: 'response_format.json_schema.schema.properties.a.pattern',
    })
  })
})

t.test('deep nesting is refused before it is traversed', async t => {
  const deep = JSON.parse(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`)
  const tool = { type: 'function', function: { name: 'f', parameters: deep } }
  t.throws(() => parse({ tools: [tool] }), { code: 'invalid_request', param: 'tools' })
})
