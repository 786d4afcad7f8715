import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { getLlama, type Llama, LlamaLogLevel } from 'node-llama-cpp'
import { type BundledModel, bundledModels } from './bundled.ts'
import { type ChatAnswerer, createAnswerer, type PromptMessage } from './evaluation/chat.ts'
import { createEmbedder, similarity } from './evaluation/embedding.ts'
import { heldOut } from './evaluation/held-out.ts'
import type { EvaluationQuestion, QuestionSet } from './evaluation/questions.ts'
import { tuning } from './evaluation/tuning.ts'

interface Outcome {
  ask: string
  answer: string
  right: boolean
}

interface Score {
  right: number
  of: number
  wrong: Outcome[]
}

interface EmbeddingScore {
  /** Share of held-out wordings whose right answer ranks first. */
  first: number
  amongThree: number
  of: number
  /** Mean similarity of the pairs, and of each left wording with texts on other subjects. */
  paraphrase: number
  unrelated: number
}

type Report = Record<string, Record<string, Score> | EmbeddingScore>

const RESULTS = join(import.meta.dirname, 'evaluation', 'results.json')
const SETS: Record<string, QuestionSet> = { tuning, 'held-out': heldOut }

/**
 * Counts right answers. `--set tuning` prints them with every wrong one, to work by; `--set held-out`
 * writes the figures of the cards and prints no answer, so that no choice is made by them.
 */
const main = async (): Promise<void> => {
  const { values } = parseArgs({ options: { set: { type: 'string', default: 'tuning' } } })
  const set = SETS[values.set]
  if (set === undefined) throw new Error('--set takes tuning or held-out')
  const llama = await getLlama({
    gpu: false,
    build: 'never',
    logLevel: LlamaLogLevel.error,
    maxThreads: 1,
  })
  const report: Report = {}
  for (const model of bundledModels) {
    report[model.id] =
      model.kind === 'chat'
        ? await chatReport(llama, model, set)
        : await embeddingReport(llama, model, set)
  }
  await llama.dispose()
  if (set === heldOut) writeFileSync(RESULTS, `${JSON.stringify(report, null, 2)}\n`)
}

const chatReport = async (
  llama: Llama,
  { id, file }: BundledModel,
  set: QuestionSet,
): Promise<Record<string, Score>> => {
  await using model = await llama.loadModel({ modelPath: file })
  await using answer = await createAnswerer(model)
  const scores: Record<string, Score> = {}
  for (const [group, asked] of Object.entries(set.questions)) {
    const outcomes: Outcome[] = []
    for (const question of asked) outcomes.push(await ask(answer, question))
    const wrong = outcomes.filter(({ right }) => !right)
    scores[group] = { right: outcomes.length - wrong.length, of: outcomes.length, wrong }
    console.log(`${id}  ${group}: ${scores[group].right} of ${scores[group].of}`)
    if (set !== heldOut) for (const outcome of wrong) print(outcome)
  }
  return scores
}

const ask = async (answer: ChatAnswerer, question: EvaluationQuestion): Promise<Outcome> => {
  const messages: PromptMessage[] = []
  if (question.system !== undefined) messages.push({ role: 'system', content: question.system })
  for (const content of question.before ?? []) {
    messages.push({ role: 'user', content })
    messages.push({ role: 'assistant', content: await answer(messages) })
  }
  const text = await answer([...messages, { role: 'user', content: question.ask }])
  return { ask: question.ask, answer: text, right: question.expect.test(text) }
}

const print = ({ ask, answer }: Outcome): void => console.log(`  ${ask}\n    ${answer}`)

const embeddingReport = async (
  llama: Llama,
  { id, file }: BundledModel,
  { paraphrases, unrelatedTexts }: QuestionSet,
): Promise<EmbeddingScore> => {
  await using model = await llama.loadModel({ modelPath: file })
  await using embed = await createEmbedder(model)
  const vectors = async (texts: string[]): Promise<number[][]> => {
    const made: number[][] = []
    for (const text of texts) made.push(await embed(text))
    return made
  }
  const left = await vectors(paraphrases.map(([text]) => text))
  const right = await vectors(paraphrases.map(([, text]) => text))
  const others = await vectors(unrelatedTexts)
  const ranks = left.map((vector, at) => rankOf(vector, right, at))
  const score = {
    first: ranks.filter(rank => rank === 0).length,
    amongThree: ranks.filter(rank => rank < 3).length,
    of: ranks.length,
    paraphrase: mean(left.map((vector, at) => similarity(vector, right[at] as number[]))),
    unrelated: mean(left.flatMap(a => others.map(b => similarity(a, b)))),
  }
  console.log(`${id}  ${JSON.stringify(score)}`)
  return score
}

/** Number of candidates nearer to the vector than the right one. */
const rankOf = (vector: number[], candidates: number[][], right: number): number => {
  const wanted = similarity(vector, candidates[right] as number[])
  return candidates.filter(candidate => similarity(vector, candidate) > wanted).length
}

const mean = (values: number[]): number =>
  Math.round((values.reduce((sum, value) => sum + value, 0) / values.length) * 1000) / 1000

await main()
