import { HEADER_MAX_TOKENS, HEADER_PROMPT_TOKENS } from '../../../shared/wire/link.ts'

/** Fields that are the same in every part of one answer. */
export interface AnswerHead {
  id: string
  /** Unix time, seconds. */
  created: number
  model: string
}

/** The bound that holds, when the caller asked for more. */
export const formatLimitHeaders = (
  asked: number | undefined,
  maxTokens: number,
): [string, string][] =>
  asked !== undefined && asked > maxTokens ? [[HEADER_MAX_TOKENS, String(maxTokens)]] : []

/** Headers with the size of a stream's prompt, in case its trailer is never sent. */
export const promptHeaders = (promptTokens: number): [string, string][] => [
  [HEADER_PROMPT_TOKENS, String(promptTokens)],
]
