import type { SequenceEvaluateMetadataOptions, Token } from 'node-llama-cpp'
import type { TokenChance, TokenInfo } from '../protocol.ts'

/** Lower bound of reported log probabilities, as OpenAI has it; JSON cannot represent infinity. */
const LEAST_LOGPROB = -9999

/** Engine output for a token. */
export interface SampledToken {
  token: Token
  /** 0 to 1, in the distribution that the token was drawn from. */
  confidence?: number
  /** Probabilities of the whole vocabulary, the most likely first. */
  probabilities?: Map<Token, number>
}

/**
 * Metadata to request from the engine, only where needed: for a confidence it sorts the vocabulary
 * (with 16 thousand tokens 1 ms of CPU per token of the answer), and alternatives contain the whole
 * vocabulary (5 ms). `controlledEvaluate` would return the same, but without a grammar and with its
 * seed reset at each token.
 */
export const metadataFor = (topLogprobs: number | undefined): SequenceEvaluateMetadataOptions => {
  if (topLogprobs === undefined) return {}
  return topLogprobs === 0 ? { confidence: true } : { confidence: true, probabilities: true }
}

/** @param text what the token adds to the answer */
export const tokenInfo = (
  { confidence, probabilities }: SampledToken,
  text: string,
  topLogprobs: number,
  textOf: (token: Token) => string,
): TokenInfo => ({
  text,
  logprob: logprob(confidence ?? 0),
  top: topLogprobs === 0 ? [] : likeliest(probabilities ?? new Map(), topLogprobs, textOf),
})

const likeliest = (
  probabilities: Map<Token, number>,
  count: number,
  textOf: (token: Token) => string,
): TokenChance[] =>
  takeFirst(probabilities, count)
    // Tokens excluded by a grammar or top_p
    .filter(([, probability]) => probability > 0)
    .map(([token, probability]) => ({ text: textOf(token), logprob: logprob(probability) }))

/** First entries of a vocabulary that is too large to copy. */
const takeFirst = <T>(all: Iterable<T>, count: number): T[] => {
  const first: T[] = []
  for (const one of all) if (first.push(one) >= count) break
  return first
}

const logprob = (probability: number): number => Math.max(LEAST_LOGPROB, Math.log(probability))
