import type { LlamaModel, Token } from 'node-llama-cpp'
import type { ChatOrder, EndReason, JobEvent } from '../protocol.ts'
import { AnswerText } from './answer-text.ts'
import { detokenizer } from './model.ts'
import type { PromptPace } from './prompt-pace.ts'
import { samplingOptions } from './sampling.ts'
import type { Slot } from './slot.ts'

export interface Generation {
  model: LlamaModel
  slot: Slot
  /** Tokens of the prompt that the slot's cache holds already. */
  prefix: number
  prompt: readonly number[]
  pace: PromptPace
  order: ChatOrder
  emit: (event: JobEvent) => void
  isCancelled: () => boolean
}

/** One answer, from the first event to the last. @throws Refusal before the first */
export const generate = async (generation: Generation): Promise<void> => {
  const { model, slot, prompt, order, emit } = generation
  const maxTokens = Math.min(order.maxTokens ?? Infinity, order.contextLength - prompt.length)
  const generated: Token[] = []
  const options = samplingOptions(model, order.sampling, () => generated, maxTokens)
  // One token must be left to evaluate: it gives the first token of the answer.
  const cachedTokens = await slot.keep(Math.min(generation.prefix, prompt.length - 1))
  emit({ type: 'start', job: order.job, promptTokens: prompt.length, cachedTokens, maxTokens })
  await slot.whileActive(async () => {
    const rest = await readPrompt(generation, cachedTokens)
    const reason =
      rest === undefined
        ? 'cancelled'
        : await answer(generation, slot.generate(rest, options), generated, maxTokens)
    emit({ type: 'end', job: order.job, reason, completionTokens: generated.length })
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
    pace.took(chunk.length, performance.now() - startedAt)
    at += chunk.length
    await slot.pause()
  }
  return isCancelled() ? undefined : tokens.slice(at)
}

/** Nothing but the engine may be awaited in this loop: the other slots wait for it. */
const answer = async (
  { model, slot, order, emit, isCancelled }: Generation,
  tokens: AsyncIterable<{ token: Token }>,
  generated: Token[],
  maxTokens: number,
): Promise<EndReason> => {
  const text = new AnswerText<Token>(detokenizer(model), order.sampling.stop)
  const show = (piece: { text: string; stopped: boolean }): boolean => {
    if (piece.text !== '') emit({ type: 'text', job: order.job, text: piece.text })
    return piece.stopped
  }
  for await (const { token } of tokens) {
    if (isCancelled()) return 'cancelled'
    if (model.isEogToken(token)) {
      show(text.end())
      return 'stop'
    }
    generated.push(token)
    if (show(text.push(token))) return 'stop'
    if (generated.length >= maxTokens) break
    const pause = slot.pause()
    if (pause) await pause
  }
  return show(text.end()) ? 'stop' : 'length'
}
