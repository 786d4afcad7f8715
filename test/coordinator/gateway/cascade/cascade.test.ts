import t from 'tap'
import {
  type CascadeAttempt,
  cascade,
  type DiscardedAnswer,
} from '../../../../coordinator/gateway/cascade/cascade.ts'
import {
  CascadeConfig,
  cascadeSteps,
} from '../../../../coordinator/gateway/cascade/cascade-steps.ts'
import type { DispatchResult } from '../../../../coordinator/gateway/dispatch/dispatch-request.ts'
import { CatalogueEntry } from '../../../../shared/catalogue.ts'

/** What a model does when it is asked: its confidence, a refusal, or nothing at all. */
type Model = number | 'unjudged' | 'refuses' | 'away'

const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }

/** Runs a cascade over models that are given by what they do, in this order. */
const run = async (
  models: Record<string, Model>,
  { minimum = -0.5, stream = false, unserved = [] as string[] } = {},
) => {
  const given: string[] = []
  const asked: string[] = []
  const dropped: string[] = []
  let discarded: readonly DiscardedAnswer[] = []
  let trail: readonly CascadeAttempt[] = []
  await cascade({
    steps: Object.keys(models).map(model => ({ model, minimumConfidence: minimum })),
    serves: model => !unserved.includes(model),
    trail: steps => {
      trail = steps.map(step => ({ ...step }))
    },
    now: () => 0,
    ask: async (model, how): Promise<DispatchResult> => {
      asked.push(how.judge ? model : `${model}!`)
      const does = models[model] as Model
      const done = (): DispatchResult => {
        given.push(`${model} ${does}`)
        discarded = [...how.listDiscarded()]
        return { kind: 'done' }
      }
      if (does === 'away') return how.quiet ? { kind: 'unavailable' } : done()
      const status = does === 'refuses' ? 422 : 200
      const headers =
        typeof does === 'number' && how.judge ? { 'x-shoal-confidence': String(does) } : {}
      if (how.accept?.(status, headers) !== false) return done()
      const cut = stream && status === 200
      const deliver = cut ? undefined : async () => void done()
      const discard = () => void dropped.push(model)
      return { kind: 'declined', cellId: 'c', usage: USAGE, httpStatus: status, deliver, discard }
    },
  })
  const text = trail.map(({ model, confidence }) =>
    confidence === undefined ? model : `${model} ${confidence}`,
  )
  return { given, asked, trail: text, discarded: discarded.map(({ model }) => model), dropped }
}

t.test('the cascade', async t => {
  t.test('returns the first answer that is confident enough', async t => {
    for (const [confidence, given, discarded] of [
      [-0.49, 'small -0.49', []],
      [-0.5, 'small -0.5', []],
      [-0.51, 'middle -0.1', ['small']],
    ] as const) {
      const result = await run({ small: confidence, middle: -0.1, large: -0.1 })
      t.strictSame(result.given, [given])
      t.strictSame(result.discarded, discarded)
      t.strictSame(result.dropped, discarded, 'what nobody gets is not kept')
    }
  })

  t.test("returns the largest model's answer without judging it", async t => {
    const { given, asked, trail } = await run({ small: -2, middle: -1, large: -3 })
    t.strictSame(given, ['large -3'])
    t.strictSame(asked, ['small', 'middle', 'large!'])
    t.strictSame(trail, ['small -2', 'middle -1', 'large'])
  })

  t.test('returns the answer of a cell that does not judge', async t => {
    t.strictSame((await run({ small: 'unjudged', large: 0 })).given, ['small unjudged'])
  })

  t.test('keeps an answer when no cell serves a larger model', async t => {
    const result = await run({ small: -2, large: 0 }, { unserved: ['large'] })
    t.strictSame(result.given, ['small -2'])
    t.strictSame(result.asked, ['small'])
  })

  t.test('continues when a model is unavailable, and reports when all are', async t => {
    t.strictSame((await run({ small: 'away', large: -2 })).given, ['large -2'])
    const { given, asked } = await run({ small: 'away', large: 'away' })
    t.strictSame(given, ['large away'], 'the last one tells the client')
    t.strictSame(asked, ['small', 'large!'])
  })

  t.test('returns a complete kept answer when no larger model can answer', async t => {
    const { given, asked, trail, discarded } = await run({ small: -3, middle: -2, large: 'away' })
    t.strictSame(given, ['middle -2'])
    t.strictSame(asked, ['small', 'middle', 'large!'])
    t.strictSame(trail, ['small -3', 'middle -2', 'large', 'middle -2'])
    t.strictSame(discarded, ['small'])
  })

  t.test('repeats the request for a stream it has cut when no larger model can answer', async t => {
    const models = { small: -2, large: 'away' } as const
    const { given, asked, trail, discarded } = await run(models, { stream: true })
    t.strictSame(given, ['small -2'])
    t.strictSame(asked, ['small', 'large!', 'small!'])
    t.strictSame(trail, ['small -2', 'large', 'small'])
    t.strictSame(discarded, ['small'], 'the tokens of the cut one were made')
  })

  t.test('asks the next model when one refuses', async t => {
    t.strictSame((await run({ small: 'refuses', large: -2 })).given, ['large -2'])
    t.strictSame((await run({ small: 'refuses', large: 'refuses' })).given, ['large refuses'])
    t.strictSame((await run({ small: 'refuses', large: 'away' })).given, ['small refuses'])
    const answered = await run({ small: -2, middle: 'refuses', large: 'away' })
    t.strictSame(answered.given, ['small -2'], 'an answer is better than a refusal')
  })
})

t.test('the steps of the cascade', async t => {
  const entry = (id: string, weights: string, typical_latency_ms?: number, kind = 'chat') =>
    CatalogueEntry.parse({
      id,
      kind,
      minimum_tier: 'free',
      weights,
      context_length: 128,
      ...(typical_latency_ms !== undefined && { typical_latency_ms }),
    })
  const catalogue = [
    entry('slow', 'c', 300),
    entry('unknown', 'd'),
    entry('fast', 'a', 100),
    entry('twin', 'a', 200),
    entry('vectors', 'e', 1, 'embedding'),
  ]
  const steps = (config: object) => cascadeSteps(catalogue, CascadeConfig.parse(config))

  t.test('go from the fastest chat model to the slowest, one per set of weights', async t => {
    t.strictSame(
      steps({}).map(({ model }) => model),
      ['fast', 'slow', 'unknown'],
    )
  })

  t.test('follow the configuration as far as the caller may use the models', async t => {
    const order = ['twin', 'forbidden', 'fast']
    t.strictSame(steps({ order, minimum_confidence: -1, minimum_confidence_of: { fast: -2 } }), [
      { model: 'twin', minimumConfidence: -1 },
      { model: 'fast', minimumConfidence: -2 },
    ])
  })
})
