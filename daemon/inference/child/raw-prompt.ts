import type { LlamaModel, Token } from 'node-llama-cpp'
import type { ChatOrder, JobEvent } from '../protocol.ts'
import type { Emit } from './generation.ts'
import { detokenizer, isKnownToken } from './model.ts'
import { type ModelTokenizer, tokenizePieces } from './tokens.ts'
import { UnservableError } from './unservable-error.ts'

type Prompt = NonNullable<ChatOrder['prompt']>

/**
 * Tokens of a prompt that is continued without a chat template. Text never becomes special tokens;
 * token ids are used unchanged, as the client chose them.
 *
 * @throws UnservableError
 */
export const rawPrompt = (
  model: LlamaModel,
  tokenizer: ModelTokenizer<number>,
  prompt: Prompt,
): number[] => {
  if (typeof prompt !== 'string') return checkTokens(model, prompt)
  const tokens = tokenizePieces([{ text: prompt, from: 'message' }], tokenizer)
  if (tokens.length > 0) return tokens
  const start = model.tokens.bos ?? model.tokens.eos
  if (start === null) throw new UnservableError('invalid_request', 'the prompt is empty', 'prompt')
  return [start]
}

const checkTokens = (model: LlamaModel, ids: readonly number[]): number[] => {
  const unknown = ids.find(id => !isKnownToken(model, id))
  if (unknown === undefined) return [...ids]
  throw new UnservableError(
    'invalid_request',
    `token ${unknown} is not in the vocabulary`,
    'prompt',
  )
}

export const readEchoedText = (model: LlamaModel, { prompt = [] }: ChatOrder): string =>
  typeof prompt === 'string' ? prompt : detokenizer(model)(prompt as Token[], [])

/** Emits the events, and the prompt after the first of them. */
export const echoPrompt = (model: LlamaModel, order: ChatOrder, emit: Emit): Emit => {
  const text = readEchoedText(model, order)
  return event => {
    emit(event)
    if (event.type === 'start') emit({ type: 'echo', job: order.job, text })
  }
}

/** Events of an answer without tokens, which needs no slot. */
export const emptyAnswer = ({ job }: ChatOrder, promptTokens: number): JobEvent[] => [
  { type: 'start', job, promptTokens, cachedTokens: 0, maxTokens: 0 },
  { type: 'end', job, reason: 'length', completionTokens: 0 },
]
