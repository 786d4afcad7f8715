import t from 'tap'
import { completionPlan } from '../../../daemon/inference/openai/completion-order.ts'
import { Completion, CompletionChunk, CompletionRequest } from '../../../shared/wire/completions.ts'
import { call, startInferenceServer, startService, waitUntilSettled } from './peers.ts'

const PATH = '/v1/completions'

t.test('a legacy completion', async t => {
  const service = await startService(t, [{ id: 'one', weights: 'bundled:shoal-demo-large' }])
  const port = await startInferenceServer(t, service)
  await waitUntilSettled(service)
  const complete = (body: object, headers = {}) =>
    call(port, 'POST', PATH, { model: 'one', temperature: 0, ...body }, headers)
  const completeWhole = async (body: object) => {
    const { status, json, usage } = await complete(body)
    t.equal(status, 200)
    t.strictSame(json, Completion.parse(json), 'the exact shape')
    t.strictSame(usage, json.usage)
    return json as Completion
  }
  const completeStreamed = async (body: object): Promise<CompletionChunk[]> => {
    const { text } = await complete({ ...body, stream: true })
    const events = text.trimEnd().split('\n\n')
    t.equal(events.pop(), 'data: [DONE]')
    return events.map(event => {
      const chunk = JSON.parse(event.replace(/^data: /, ''))
      t.strictSame(chunk, CompletionChunk.parse(chunk))
      return chunk
    })
  }
  const texts = ({ choices }: Completion) => choices.map(choice => choice.text)

  t.test('continues the prompt, with 16 tokens by default', async t => {
    const answer = await completeWhole({ prompt: 'A cell is' })
    t.match(answer, { id: /^cmpl-/, object: 'text_completion', model: 'one' })
    t.match(answer.choices, [{ index: 0, text: /^ a machine/, logprobs: null }])
    t.equal(answer.choices[0]?.finish_reason, 'length')
    t.equal(answer.usage.completion_tokens, 16)
    t.equal(
      (await completeWhole({ prompt: 'A cell is', max_tokens: 3 })).usage.completion_tokens,
      3,
    )
  })

  t.test('accepts texts and lists of tokens, and returns each by its index', async t => {
    const texts2 = await completeWhole({ prompt: ['A cell is', 'A tier is'], n: 2, max_tokens: 2 })
    t.strictSame(
      texts2.choices.map(({ index }) => index),
      [0, 1, 2, 3],
    )
    t.equal(texts2.usage.completion_tokens, 8)
    const one = await completeWhole({ prompt: 'A cell is', max_tokens: 2 })
    t.ok(texts2.usage.prompt_tokens < 2 * one.usage.prompt_tokens + 2, 'a prompt counts once')
    const ids = [5, 6, 7]
    const alone = await completeWhole({ prompt: ids, max_tokens: 2 })
    t.equal(alone.usage.prompt_tokens, 3)
    t.strictSame(texts(await completeWhole({ prompt: [ids, ids], max_tokens: 2 })), [
      ...texts(alone),
      ...texts(alone),
    ])
  })

  t.test('turns no text of a prompt into control tokens', async t => {
    const answer = await completeWhole({ prompt: '<|im_end|>', max_tokens: 0 })
    t.ok(answer.usage.prompt_tokens > 2, `${answer.usage.prompt_tokens} tokens`)
  })

  t.test('puts the prompt before the answer with echo', async t => {
    const prompt = 'A cell is'
    const [plain = ''] = texts(await completeWhole({ prompt, max_tokens: 2 }))
    t.strictSame(texts(await completeWhole({ prompt, max_tokens: 2, echo: true })), [
      prompt + plain,
    ])
    const nothing = await completeWhole({ prompt, max_tokens: 0, echo: true })
    t.strictSame(texts(nothing), [prompt])
    t.equal(nothing.usage.completion_tokens, 0)
    t.equal(nothing.choices[0]?.finish_reason, 'length')
    const ids = [40, 41, 42]
    const [echoed = ''] = texts(await completeWhole({ prompt: ids, max_tokens: 0, echo: true }))
    t.ok(echoed.length > 0)
  })

  t.test('ends before a stop string', async t => {
    const ask = { prompt: 'A cell is', max_tokens: 20 }
    const [free = ''] = texts(await completeWhole(ask))
    const [first = '', second = ''] = free.trim().split(' ').slice(1)
    for (const stop of [first, ['never said', `${first} ${second}`]]) {
      const answer = await completeWhole({ ...ask, stop })
      const before = free.slice(0, free.indexOf([stop].flat().at(-1) as string))
      t.strictSame([texts(answer), answer.choices[0]?.finish_reason], [[before], 'stop'])
    }
  })

  t.test('returns the log-probabilities of its tokens', async t => {
    const request = { prompt: 'A cell is', max_tokens: 2 }
    const { choices } = await completeWhole({ ...request, logprobs: 2 })
    const logprobs = choices[0]?.logprobs
    t.equal(logprobs?.tokens.join(''), choices[0]?.text)
    t.strictSame(logprobs?.text_offset, [0, logprobs?.tokens[0]?.length])
    for (const [index, token] of (logprobs?.tokens ?? []).entries()) {
      const top = logprobs?.top_logprobs?.[index] ?? {}
      t.equal(top[token], logprobs?.token_logprobs[index])
      t.equal(Object.keys(top).length, 2, 'greedy takes the most likely, which is one of the two')
    }
    t.equal(
      (await completeWhole({ ...request, logprobs: 0 })).choices[0]?.logprobs?.top_logprobs,
      null,
    )
  })

  t.test('scores the prompt with echo and logprobs, as evaluation suites request', async t => {
    const context = 'A cell is'
    const free = await completeWhole({
      prompt: context,
      max_tokens: 6,
      logprobs: 2,
      temperature: 1,
      seed: 2,
    })
    const { text, logprobs } = free.choices[0] as Completion['choices'][number]
    const prompt = context + text
    const [scored] = (await completeWhole({ prompt, max_tokens: 0, echo: true, logprobs: 2 }))
      .choices
    const told = scored?.logprobs
    t.match(scored, { text: prompt, finish_reason: 'length' })
    t.equal(told?.tokens.join(''), prompt)
    t.strictSame([told?.token_logprobs[0], told?.top_logprobs?.[0]], [null, null])
    const count = logprobs?.tokens.length ?? 0
    t.strictSame(told?.tokens.slice(-count), logprobs?.tokens)
    t.ok(
      logprobs?.token_logprobs.every((value, index) => {
        const again = told?.token_logprobs.at(index - count) ?? 0
        return Math.abs((value ?? 0) - again) < 0.05
      }),
      'the tokens of an answer are as likely when they are read as when they were drawn',
    )
    t.equal(told?.text_offset.at(-count), context.length)
    const more = await completeWhole({ prompt, max_tokens: 2, echo: true, logprobs: 0 })
    t.equal(more.choices[0]?.logprobs?.tokens.length, (told?.tokens.length ?? 0) + 2)
    t.equal(more.usage.completion_tokens, 2)
    const chunks = await completeStreamed({ prompt, max_tokens: 2, echo: true, logprobs: 0 })
    const parts = chunks.flatMap(({ choices }) => choices)
    t.strictSame(
      parts.flatMap(part => part.logprobs?.tokens ?? []),
      more.choices[0]?.logprobs?.tokens,
    )
    t.strictSame(
      parts.flatMap(part => part.logprobs?.text_offset ?? []),
      more.choices[0]?.logprobs?.text_offset,
    )
    const ids = await completeWhole({
      prompt: [40, 41, 42],
      max_tokens: 0,
      echo: true,
      logprobs: 1,
    })
    t.equal(ids.choices[0]?.logprobs?.token_logprobs.length, 3)
  })

  t.test('returns the most probable of best_of', async t => {
    const request = { prompt: 'A', temperature: 1.5, seed: 4, max_tokens: 6, logprobs: 0 }
    const mean = ({ logprobs }: Completion['choices'][number]): number => {
      const values = logprobs?.token_logprobs ?? []
      return values.reduce<number>((sum, value) => sum + (value ?? 0), 0) / values.length
    }
    const all = await completeWhole({ ...request, n: 4 })
    const best = await completeWhole({ ...request, best_of: 4 })
    t.equal(best.choices.length, 1)
    t.equal(mean(best.choices[0] as never), Math.max(...all.choices.map(mean)))
    t.equal(best.usage.completion_tokens, all.usage.completion_tokens, 'all were made')
  })

  t.test('is streamed in the same shape', async t => {
    const request = { prompt: ['A cell is', 'A tier is'], max_tokens: 3 }
    const answer = await completeWhole(request)
    const chunks = await completeStreamed({ ...request, stream_options: { include_usage: true } })
    const last = chunks.pop()
    t.strictSame([last?.choices, last?.usage?.completion_tokens], [[], 6])
    t.equal(new Set(chunks.map(({ id, created }) => `${id} ${created}`)).size, 1)
    for (const index of [0, 1]) {
      const parts = chunks.flatMap(chunk => chunk.choices.filter(choice => choice.index === index))
      t.equal(parts.map(part => part.text).join(''), answer.choices[index]?.text)
      t.equal(parts.at(-1)?.finish_reason, 'length')
      t.ok(parts.slice(0, -1).every(part => part.finish_reason === null))
    }
    t.ok((await completeStreamed(request)).every(chunk => chunk.usage === undefined))
  })

  t.test('refuses unsupported parameters by name', async t => {
    for (const [body, code, param] of [
      [{ prompt: 'a', suffix: 'b' }, 'unsupported_parameter', 'suffix'],
      [{ prompt: 'a', best_of: 2, stream: true }, 'unsupported_parameter', 'best_of'],
      [{ prompt: 'a', best_of: 1, n: 2 }, 'invalid_request', 'best_of'],
      [{ prompt: ['a', [1]] }, 'invalid_request', 'prompt'],
      [{ prompt: Array(100).fill('a'), n: 2 }, 'invalid_request', 'prompt'],
      [{ prompt: [9_999_999] }, 'invalid_request', 'prompt'],
      [{ prompt: 'word '.repeat(3000) }, 'context_length_exceeded', 'prompt'],
      [{ prompt: 'a', logprobs: 6 }, 'invalid_request', 'logprobs'],
      [{ prompt: 'a', stream_options: {} }, 'invalid_request', 'stream_options'],
      [{}, 'invalid_request', 'prompt'],
    ] as const) {
      const { status, json } = await complete(body)
      const expected = code === 'context_length_exceeded' ? 400 : 422
      t.strictSame([status, json.error.code, json.error.param], [expected, code, param], code)
    }
  })

  t.test('is bounded by the tier', async t => {
    const { json, headers } = await complete(
      { prompt: 'A cell is', max_tokens: 9 },
      { 'x-shoal-max-tokens': '2' },
    )
    t.equal(json.usage.completion_tokens, 2)
    t.equal(headers['x-shoal-max-tokens'], '2')
  })
})

t.test('the answers to one prompt have separate seeds', t => {
  const plan = (body: object) =>
    completionPlan(
      CompletionRequest.parse({ model: 'm', prompt: 'a', seed: 7, ...body }),
      100,
      undefined,
      () => 0,
    )
  const seeds = plan({ n: 2, prompt: ['a', 'b'] }).prompts.map(works =>
    works.map(({ work }) => (work.type === 'chat' ? work.sampling.seed : undefined)),
  )
  t.strictSame(seeds, [
    [7, 8],
    [7, 8],
  ])
  t.end()
})
