import { type ErrorCode, isErrorCode, ShoalError } from '../../shared/errors.ts'
import { Usage } from '../../shared/wire/openai.ts'
import type { AnswerHeaders } from './cell-link.ts'
import { MAX_TOKENS } from './partial-usage.ts'

/**
 * Another cell may do better: all but an answer and the refusal of a request. Cells say nothing else;
 * what looks like success and has no usage would be an answer that nobody counts.
 */
export const isRetried = (status: number): boolean =>
  status !== 200 && (status < 400 || status >= 500 || status === 429)

/** Full or starting: not the request's fault, and not a failure of the cell either. */
export const isBusy = (status: number): boolean => status === 503 || status === 429

/** Returns the error for a request that a cell did not take. */
export const parseCellRefusal = (body: Buffer, headers: AnswerHeaders): ShoalError => {
  const seconds = Number(headers['retry-after'])
  const options = Number.isInteger(seconds) && seconds > 0 ? { retryAfterSeconds: seconds } : {}
  return new ShoalError('cell_unavailable', messageOf(body), options)
}

/** The message of an error that a cell has answered. */
export const messageOf = (body: Buffer): string => {
  try {
    return String(JSON.parse(body.toString('utf8')).error.message)
  } catch {
    return 'the cell refused the request'
  }
}

/** Returns the code of a cell's error answer; undefined when it is missing or not a known code. */
export const codeOf = (body: Buffer): ErrorCode | undefined => {
  try {
    const { code } = JSON.parse(body.toString('utf8')).error
    return isErrorCode(code) ? code : undefined
  } catch {
    return undefined
  }
}

/**
 * Parses the token usage a cell reports; undefined when it is missing, malformed or implausible.
 */
export const parseUsage = (text: string | undefined): Usage | undefined => {
  try {
    const usage = Usage.parse(JSON.parse(String(text)))
    const { prompt_tokens, completion_tokens, prompt_tokens_details: details } = usage
    const most = Math.max(prompt_tokens, completion_tokens, details?.cached_tokens ?? 0)
    return most > MAX_TOKENS ? undefined : usage
  } catch {
    return undefined
  }
}
