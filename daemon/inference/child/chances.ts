import type { SequenceEvaluateMetadataOptions, Token } from 'node-llama-cpp'
import type { TokenChance, TokenInfo } from '../protocol.ts'

/** Less likely than this is told as this, as OpenAI does; JSON has no infinity. */
const LEAST_LOGPROB = -9999

/** What the engine tells of a token besides its id. */
export interface Sampled {
  token: Token
  /** 0 to 1, in the distribution that the token was drawn from. */
  confidence?: number
  /** Of the whole vocabulary, the most likely first. */
  probabilities?: Map<Token, number>
}

/**
 * What to ask of the engine, and only when it is wanted: for a confidence it sorts the vocabulary
 * (with 16 thousand tokens 1 ms of CPU for each token of the answer), alternatives come with all of
 * the vocabulary (5 ms). `controlledEvaluate` would bring the same, without a grammar and with a
 * seed that begins anew at each token.
 */
export const metadataFor = (topLogprobs: number | undefined): SequenceEvaluateMetadataOptions => {
  if (topLogprobs === undefined) return {}
  return topLogprobs === 0 ? { confidence: true } : { confidence: true, probabilities: true }
}

/** @param text what the token adds to the answer */
export const tokenInfo = (
  { confidence, probabilities }: Sampled,
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
  firstOf(probabilities, count)
    // what a grammar or top_p has left out
    .filter(([, probability]) => probability > 0)
    .map(([token, probability]) => ({ text: textOf(token), logprob: logprob(probability) }))

/** Of a whole vocabulary, which is not worth copying. */
const firstOf = <T>(all: Iterable<T>, count: number): T[] => {
  const first: T[] = []
  for (const one of all) if (first.push(one) >= count) break
  return first
}

const logprob = (probability: number): number => Math.max(LEAST_LOGPROB, Math.log(probability))
