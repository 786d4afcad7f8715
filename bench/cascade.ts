import { parseArgs } from 'node:util'
import { type CascadeAttempt, cascade } from '../coordinator/gateway/cascade/cascade.ts'
import { CascadeConfig, cascadeSteps } from '../coordinator/gateway/cascade/cascade-steps.ts'
import type { DispatchResult } from '../coordinator/gateway/dispatch/dispatch-request.ts'
import { CatalogueEntry } from '../shared/catalogue.ts'
import { HEADER_CONFIDENCE } from '../shared/wire/link.ts'
import { type Random, randomOf } from '../test/support/random.ts'
import { type ReportRow, report, round } from './measure.ts'

/**
 * Score and tokens of the coordinator's cascade against the largest model alone. The models are
 * stand-ins with declared qualities: the part of the questions that each can answer, its size, and
 * how well its confidence tells right from wrong. The figures say what the cascade makes of such
 * models, not how good any real model is.
 *
 *   npm run bench -- cascade [--questions 20000]
 */
export const main = async (argv: string[]): Promise<void> => {
  const options = { questions: { type: 'string', default: '20000' } } as const
  const count = Number(parseArgs({ args: argv, options }).values.questions)
  const rows: ReportRow[] = [await evaluate('the largest model alone', { count, only: 'large' })]
  for (const [name, gap] of Object.entries(GAPS))
    for (const minimum of [-0.35, -0.5, -0.65])
      for (const isStream of [true, false])
        rows.push(await evaluate(name, { count, gap, minimum, isStream }))
  report('cascade', { questions: count, models: MODELS }, rows)
}

/** Size in billions of parameters; `skill` is the part of the questions that a model can answer. */
const MODELS = {
  small: { size: 3, skill: 0.55 },
  middle: { size: 14, skill: 0.72 },
  large: { size: 70, skill: 0.85 },
}
type Model = keyof typeof MODELS

/** Difference between the mean log-probabilities of a right and a wrong answer. */
const GAPS = {
  'confidence tells well': 0.6,
  'confidence tells a little': 0.2,
  'confidence tells nothing': 0,
}
const RIGHT_CONFIDENCE = -0.3
/** Standard deviation of the confidence. */
const NOISE = 0.15
/** Tokens of a stream that are generated before it is judged. */
const JUDGED_TOKENS = 32

interface Trial {
  count: number
  gap?: number
  minimum?: number
  isStream?: boolean
  /** The one model that is asked. */
  only?: Model
}

interface Question {
  /** 0 to 1; a model answers the questions that are not harder than its skill. */
  difficulty: number
  promptTokens: number
  answerTokens: number
}

const CATALOGUE = Object.keys(MODELS).map(id =>
  CatalogueEntry.parse({
    ...{ id, kind: 'chat', minimum_tier: 'free' },
    ...{ weights: `/${id}.gguf`, context_length: 8192 },
  }),
)

const evaluate = async (name: string, trial: Trial): Promise<ReportRow> => {
  const { count, gap = 0, minimum = -0.5, isStream = true, only } = trial
  const random = randomOf(1)
  const order = only === undefined ? Object.keys(MODELS) : [only]
  const config = CascadeConfig.parse({ order, minimum_confidence: minimum })
  const steps = cascadeSteps(CATALOGUE, config)
  const sum = { right: 0, read: 0, generated: 0, cost: 0, largest: 0 }
  for (let n = 0; n < count; n++) {
    const question: Question = {
      difficulty: random.randomFraction(),
      promptTokens: 50 + random.randomBelow(950),
      answerTokens: 20 + random.randomBelow(480),
    }
    let answer: Model | undefined
    let trail: readonly CascadeAttempt[] = []
    const ask = async (
      id: string,
      { judge, accept }: Parameters<Parameters<typeof cascade>[0]['ask']>[1],
    ): Promise<DispatchResult> => {
      const model = id as Model
      const isRight = isAnswered(question, model, random)
      const confidence = RIGHT_CONFIDENCE - (isRight ? 0 : gap) + NOISE * normal(random)
      const headers = judge ? { [HEADER_CONFIDENCE]: String(Math.min(0, confidence)) } : {}
      const isTaken = accept?.(200, headers) !== false
      const cut = Math.min(JUDGED_TOKENS, question.answerTokens)
      const generated = isTaken || !isStream ? question.answerTokens : cut
      sum.read += question.promptTokens
      sum.generated += generated
      sum.cost += generated * MODELS[model].size
      if (!isTaken) return decline()
      answer = model
      if (isRight) sum.right++
      return { kind: 'done' }
    }
    await cascade({
      steps,
      serves: () => true,
      trail: asked => {
        trail = asked
      },
      now: () => 0,
      ask,
    })
    if (answer === undefined) throw new Error(`no answer: ${JSON.stringify(trail)}`)
    if (answer === 'large') sum.largest++
  }
  const alone = (sum.generated / count) * MODELS.large.size
  return {
    cascade: name,
    'minimum confidence': only === undefined ? minimum : '',
    answers: only !== undefined ? '' : isStream ? 'streams' : 'whole',
    'right %': round((100 * sum.right) / count),
    'answered by the largest %': round((100 * sum.largest) / count),
    'prompt tokens read': Math.round(sum.read / count),
    'tokens generated': Math.round(sum.generated / count),
    'work against the largest alone %': round(
      (100 * sum.cost) / count / (only === undefined ? LARGEST_WORK : alone),
    ),
  }
}

/** Mean tokens of an answer, times the size of the largest model. */
const LARGEST_WORK = (20 + 479 / 2) * MODELS.large.size

/** One answer in twenty is right or wrong whatever the skill. */
const isAnswered = ({ difficulty }: Question, model: Model, random: Random): boolean =>
  (random.randomBelow(20) === 0 ? random.randomFraction() : difficulty) < MODELS[model].skill

const decline = (): DispatchResult => ({
  kind: 'declined',
  cellId: 'cell_1',
  usage: undefined,
  httpStatus: 200,
  deliver: undefined,
  discard: () => {},
})

/** Standard normal by Box and Muller. */
const normal = ({ randomFraction }: Random): number =>
  Math.sqrt(-2 * Math.log(1 - randomFraction())) * Math.cos(2 * Math.PI * randomFraction())
