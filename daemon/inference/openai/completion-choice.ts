import type { Completion, CompletionLogprobs } from '../../../shared/wire/completions.ts'
import type { FinishReason } from '../../../shared/wire/openai.ts'
import type { EngineEvent } from '../jobs.ts'
import type { ScoredToken, TokenInfo } from '../protocol.ts'

type EchoEvent = Extract<EngineEvent, { type: 'echo' }>
type TextEvent = Extract<EngineEvent, { type: 'text' }>
type EndEvent = Extract<EngineEvent, { type: 'end' }>

/** One answer as it grows. */
export class CompletionChoice {
  #text = ''
  #prompt: readonly ScoredToken[] = []
  #tokens: TokenInfo[] = []
  finish: FinishReason = 'stop'

  echo({ text, tokens = [] }: EchoEvent): void {
    this.#text += text
    this.#prompt = tokens
  }

  push({ text, tokens = [] }: TextEvent): void {
    this.#text += text
    this.#tokens.push(...tokens)
  }

  end({ reason }: EndEvent): void {
    this.finish = reason === 'length' ? 'length' : 'stop'
  }

  /** Mean log-probability of a token: by it the best answers are chosen. */
  get confidence(): number {
    const sum = this.#tokens.reduce((total, { logprob }) => total + logprob, 0)
    return this.#tokens.length === 0 ? 0 : sum / this.#tokens.length
  }

  /** @param wanted alternatives of each token; null when no logprobs were asked for */
  toJson(index: number, wanted: number | null): Completion['choices'][number] {
    const tokens = [...this.#prompt, ...this.#tokens]
    const logprobs = wanted === null ? null : completionLogprobs(tokens, wanted, 0)
    return { index, text: this.#text, logprobs, finish_reason: this.finish }
  }
}

/** @param offset characters before the first token */
export const completionLogprobs = (
  tokens: readonly ScoredToken[],
  wanted: number,
  offset: number,
): CompletionLogprobs => ({
  tokens: tokens.map(({ text }) => text),
  token_logprobs: tokens.map(({ logprob }) => logprob),
  top_logprobs: wanted === 0 ? null : tokens.map(token => topOf(token, wanted)),
  text_offset: offsets(tokens, offset),
})

/** The most likely tokens, and always the one that stands there; null for the first of a prompt. */
const topOf = (
  { text, logprob, top }: ScoredToken,
  wanted: number,
): Record<string, number> | null => {
  if (logprob === null) return null
  const likeliest = top.slice(0, wanted).map(chance => [chance.text, chance.logprob] as const)
  return Object.fromEntries([...likeliest, [text, logprob]])
}

const offsets = (tokens: readonly ScoredToken[], offset: number): number[] => {
  let at = offset
  return tokens.map(({ text }) => {
    const start = at
    at += text.length
    return start
  })
}
