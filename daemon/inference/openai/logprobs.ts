import type { ChoiceLogprobs, ContentLogprob } from '../../../shared/wire/openai-logprobs.ts'
import type { TokenChance, TokenInfo } from '../protocol.ts'

/** Tokens as OpenAI tells them. */
export const choiceLogprobs = (tokens: readonly TokenInfo[]): ChoiceLogprobs => ({
  content: tokens.map(contentLogprob),
  refusal: null,
})

const contentLogprob = (token: TokenInfo): ContentLogprob => ({
  ...tokenLogprob(token),
  top_logprobs: token.top.map(tokenLogprob),
})

const tokenLogprob = ({ text, logprob }: TokenChance) => ({
  token: text,
  logprob,
  bytes: text.includes('\uFFFD') ? null : [...Buffer.from(text)],
})

/** Mean of the logarithms of the probabilities; undefined without tokens. */
export const meanLogprob = (tokens: readonly TokenInfo[]): number | undefined =>
  tokens.length === 0
    ? undefined
    : tokens.reduce((sum, { logprob }) => sum + logprob, 0) / tokens.length
