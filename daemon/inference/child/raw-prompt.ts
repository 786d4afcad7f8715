import type { LlamaModel, Token } from 'node-llama-cpp'
import type { ChatOrder, JobEvent } from '../protocol.ts'
import type { Emit } from './generation.ts'
import { detokenizer, isKnownToken } from './model.ts'
import { Refusal } from './refusal.ts'
import { type Tokenizer, tokenizePieces } from './tokens.ts'

type Prompt = NonNullable<ChatOrder['prompt']>

/**
 * The tokens of a prompt that is continued as it is. A text never becomes special tokens; token
 * ids are taken as they are, because who sends them has made them.
 *
 * @throws Refusal
 */
export const rawPrompt = (
  model: LlamaModel,
  tokenizer: Tokenizer<number>,
  prompt: Prompt,
): number[] => {
  if (typeof prompt !== 'string') return known(model, prompt)
  const tokens = tokenizePieces([{ text: prompt, from: 'message' }], tokenizer)
  if (tokens.length > 0) return tokens
  const start = model.tokens.bos ?? model.tokens.eos
  if (start === null) throw new Refusal('invalid_request', 'the prompt is empty', 'prompt')
  return [start]
}

const known = (model: LlamaModel, ids: readonly number[]): number[] => {
  const unknown = ids.find(id => !isKnownToken(model, id))
  if (unknown === undefined) return [...ids]
  throw new Refusal('invalid_request', `token ${unknown} is not in the vocabulary`, 'prompt')
}

export const echoedText = (model: LlamaModel, { prompt = [] }: ChatOrder): string =>
  typeof prompt === 'string' ? prompt : detokenizer(model)(prompt as Token[], [])

/** Emits the events, and the prompt after the first of them. */
export const echoing = (model: LlamaModel, order: ChatOrder, emit: Emit): Emit => {
  const text = echoedText(model, order)
  return event => {
    emit(event)
    if (event.type === 'start') emit({ type: 'echo', job: order.job, text })
  }
}

/** An answer of no tokens, which needs no slot. */
export const emptyAnswer = ({ job }: ChatOrder, promptTokens: number): JobEvent[] => [
  { type: 'start', job, promptTokens, cachedTokens: 0, maxTokens: 0 },
  { type: 'end', job, reason: 'length', completionTokens: 0 },
]
