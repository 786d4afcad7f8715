import type { SequenceEvaluateOptions, Token } from 'node-llama-cpp'
import type { EndReason } from '../protocol.ts'
import { callMarks } from '../tool-syntax.ts'
import { AnswerHold } from './answer-hold.ts'
import { AnswerText, type VisibleText } from './answer-text.ts'
import { metadataFor, type SampledToken, tokenInfo } from './chances.ts'
import type { Generation } from './generation.ts'
import { detokenizer } from './model.ts'
import { isScored, readScored } from './prompt-scores.ts'
import { samplingOptions } from './sampling.ts'
import { TokenTrail } from './token-trail.ts'

/** One answer, from the first event to the last. @throws UnservableError before the first */
export const generate = async (generation: Generation): Promise<void> => {
  const { model, slot, prompt, order, emit, callShape = 'hermes' } = generation
  const maxTokens = Math.min(order.maxTokens ?? Infinity, order.contextLength - prompt.length)
  const generated: Token[] = []
  const hold = await AnswerHold.create(model, order, callShape)
  const options = {
    ...samplingOptions(model, order.sampling, () => generated, maxTokens),
    ...(hold && { grammarEvaluationState: hold.grammarEvaluationState }),
  }
  // One token must be left to evaluate: it gives the first token of the answer.
  const prefix = isScored(order) ? 0 : Math.min(generation.prefix, prompt.length - 1)
  const cachedTokens = await slot.keep(prefix)
  const facts = { promptTokens: prompt.length, cachedTokens, maxTokens }
  emit({ type: 'start', job: order.job, ...facts, ...(order.tools && { callShape }) })
  await slot.runActive(async () => {
    const rest = isScored(order)
      ? await readScored(generation)
      : await readPrompt(generation, cachedTokens)
    const answering = { generated, maxTokens, hold }
    const reason = await answerOrEnd(generation, rest, options, answering)
    emit({ type: 'end', job: order.job, reason, completionTokens: generated.length })
  })
}

/** @param rest of the prompt; undefined when the request was cancelled */
const answerOrEnd = async (
  generation: Generation,
  rest: Token[] | undefined,
  options: SequenceEvaluateOptions,
  answering: Answering,
): Promise<EndReason> => {
  if (rest === undefined) return 'cancelled'
  if (answering.maxTokens === 0) return 'length'
  const tokens = listSampledTokens(generation, rest, options)
  return answer(generation, tokens, answering).catch(error => {
    throw answering.hold?.blame(error) ?? error
  })
}

/**
 * Reads all but the last chunk and returns that, or undefined when cancelled. A cancelled request
 * leaves its slot after one chunk at most; the others' tokens go between the chunks.
 */
const readPrompt = async (
  { slot, prompt, pace, isCancelled }: Generation,
  cachedTokens: number,
): Promise<Token[] | undefined> => {
  const tokens = prompt as readonly Token[]
  let at = cachedTokens
  while (prompt.length - at > pace.chunkTokens) {
    if (isCancelled()) return undefined
    const chunk = tokens.slice(at, at + pace.chunkTokens)
    const startedAt = performance.now()
    await slot.read(chunk)
    pace.record(chunk.length, performance.now() - startedAt)
    at += chunk.length
    await slot.pause()
  }
  return isCancelled() ? undefined : tokens.slice(at)
}

/** Tokens of the answer; metadata is requested from the engine only for as many as needed. */
const listSampledTokens = (
  { slot, order }: Generation,
  prompt: Token[],
  options: SequenceEvaluateOptions,
): AsyncIterable<SampledToken> => {
  const { topLogprobs, logprobTokens } = order
  const metadata = metadataFor(topLogprobs)
  if (logprobTokens === undefined) return slot.generate(prompt, options, metadata)
  return tellFirst(logprobTokens, slot.generate(prompt, options, metadata), last =>
    slot.generate([last], options, {}),
  )
}

const tellFirst = async function* (
  count: number,
  told: AsyncIterable<SampledToken>,
  goOn: (last: Token) => AsyncIterable<SampledToken>,
): AsyncGenerator<SampledToken> {
  let seen = 0
  for await (const sampled of told) {
    yield sampled
    if (++seen < count) continue
    yield* goOn(sampled.token)
    return
  }
}

interface Answering {
  generated: Token[]
  maxTokens: number
  hold: AnswerHold | undefined
}

/** Nothing but the engine may be awaited in this loop: the other slots wait for it. */
const answer = async (
  generation: Generation,
  tokens: AsyncIterable<SampledToken>,
  { generated, maxTokens, hold }: Answering,
): Promise<EndReason> => {
  const { model, slot, isCancelled } = generation
  const show = createTokenEmitter(generation, hold)
  for await (const sampled of tokens) {
    if (isCancelled()) return 'cancelled'
    if (model.isEogToken(sampled.token)) {
      show(undefined)
      return 'stop'
    }
    generated.push(sampled.token)
    if (show(sampled)) return 'stop'
    if (hold?.opening) await hold.opening
    if (hold?.ended) {
      show(undefined)
      return 'stop'
    }
    if (generated.length >= maxTokens) break
    const pause = slot.pause()
    if (pause) await pause
  }
  return show(undefined) ? 'stop' : 'length'
}

/** Emits the text that each token adds, or at the end the buffered text; true at a stop. */
const createTokenEmitter = (
  { model, order, callShape, emit }: Generation,
  hold: AnswerHold | undefined,
) => {
  const { job, topLogprobs } = order
  const marks = order.tools && callShape ? callMarks(callShape) : []
  const text = new AnswerText<Token>(detokenizer(model, marks), order.sampling.stop)
  const trail = new TokenTrail()
  const textOf = (token: Token): string => model.detokenize([token])
  const withTokens = (shown: VisibleText, sampled: SampledToken | undefined): void => {
    if (sampled?.confidence !== undefined)
      trail.push(tokenInfo(sampled, shown.piece, topLogprobs ?? 0, textOf))
    const tokens = trail.show(shown.text)
    if (shown.stopped || sampled === undefined) tokens.push(...trail.end())
    if (tokens.length > 0 || shown.text !== '')
      emit({ type: 'text', job, text: shown.text, tokens })
  }
  return (sampled: SampledToken | undefined): boolean => {
    const shown = sampled ? text.push(sampled.token) : text.end()
    if (sampled) hold?.follow(shown.piece)
    if (topLogprobs !== undefined) withTokens(shown, sampled)
    else if (shown.text !== '') emit({ type: 'text', job, text: shown.text })
    return shown.stopped
  }
}
