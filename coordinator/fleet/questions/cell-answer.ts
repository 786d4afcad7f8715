import { type ErrorCode, httpStatus, isErrorCode, ShoalError } from '../../../shared/errors.ts'
import { Usage } from '../../../shared/wire/openai.ts'
import type { AnswerHeaders } from '../cells/cell-link.ts'
import { MAX_TOKENS } from './partial-usage.ts'

/**
 * Another cell may do better: all but an answer and the refusal of a request. Cells say nothing else;
 * what looks like success and has no usage would be an answer that nobody counts.
 */
export const isRetried = (status: number): boolean =>
  status !== 200 && (status < 400 || status >= 500 || status === 429)

/** Full or starting: not the request's fault, and not a failure of the cell either. */
export const isBusy = (status: number): boolean => status === 503 || status === 429

/** Errors of a request that a daemon answers; a cell that answers others is not believed. */
const REQUEST_ERRORS: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode>([
  'context_length_exceeded',
  'invalid_model',
  'invalid_request',
  'model_not_found',
  'payload_too_large',
  'unsupported_media_type',
  'unsupported_parameter',
])
const JSON_TYPE = 'application/json'
const EVENTS_TYPE = 'text/event-stream'

/** True for the content type of a daemon's answer; an answer without one gets none of ours either. */
export const isAnswerType = (headers: AnswerHeaders, isStream: boolean): boolean => {
  const type = headers['content-type']
  return type === undefined || type.startsWith(isStream ? EVENTS_TYPE : JSON_TYPE)
}

/**
 * Status for the client of an error of the request itself; undefined for an answer that no daemon
 * gives. Older daemons refuse a prompt that is too long with 422.
 */
export const refusalStatus = (status: number, body: Buffer): number | undefined => {
  const code = codeOf(body)
  if (code === undefined || !REQUEST_ERRORS.has(code)) return undefined
  const own = httpStatus(code)
  return status === own || (code === 'context_length_exceeded' && status === 422) ? own : undefined
}

export const createBadAnswerError = (cellId: string, status: number): ShoalError =>
  new ShoalError('cell_unavailable', `${cellId} returned the unexpected status ${status}; retry`)

/** Events of a stream without text: the role, the end and the usage. */
const EVENTS_WITHOUT_TEXT = 3

/** False for a usage of zero tokens of an answer that has some. @param dataEvents of a stream */
export const isCredible = (usage: Usage, dataEvents: number | undefined): boolean => {
  const { prompt_tokens, completion_tokens } = usage
  if (dataEvents !== undefined && dataEvents > EVENTS_WITHOUT_TEXT) return completion_tokens > 0
  return prompt_tokens + completion_tokens > 0
}

/** Returns the error for a request that a cell did not take. */
export const parseCellRefusal = (body: Buffer, headers: AnswerHeaders): ShoalError => {
  const seconds = Number(headers['retry-after'])
  const options = Number.isInteger(seconds) && seconds > 0 ? { retryAfterSeconds: seconds } : {}
  return new ShoalError('cell_unavailable', messageOf(body), options)
}

const MAX_MESSAGE_LENGTH = 500

/** The message of an error that a cell has answered. */
export const messageOf = (body: Buffer): string => {
  try {
    return String(JSON.parse(body.toString('utf8')).error.message).slice(0, MAX_MESSAGE_LENGTH)
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
