import { SendError } from '../../shared/outbound/send-error.ts'
import { UpstreamError, type UpstreamFailure } from './client.ts'
import { readRetryAfter } from './freshness.ts'
import { MalformedBody } from './read-body.ts'
import type { Source, SourceReply } from './source.ts'

const BY_STATUS: Readonly<Record<number, UpstreamFailure>> = {
  401: 'refused',
  403: 'refused',
  404: 'not_found',
  408: 'timed_out',
  410: 'not_found',
  429: 'rate_limited',
  504: 'timed_out',
}

const BY_REASON: Readonly<Record<SendError['reason'], UpstreamFailure>> = {
  refused: 'refused',
  busy: 'rate_limited',
  not_resolved: 'not_reached',
  not_reached: 'not_reached',
  timed_out: 'timed_out',
  too_large: 'too_large',
  aborted: 'timed_out',
}

/** Failure that a status means. Repeats nothing of the answer, which a stranger has written. */
export const failureOfStatus = (
  { id, key, floorSeconds }: Source,
  { status, headers }: Pick<SourceReply, 'status' | 'headers'>,
  { hasKey, now }: { hasKey: boolean; now: number },
): UpstreamError => {
  const failure =
    status === 401 && key !== undefined && !hasKey
      ? 'auth_missing'
      : (BY_STATUS[status] ?? 'failed')
  const retryAfterSeconds = readRetryAfter(headers, now) ?? floorSeconds
  return new UpstreamError(id, failure, `it answered HTTP ${status}`, {
    status,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
  })
}

/** Failure without a usable answer; anything unforeseen is thrown on. */
export const failureOfError = ({ id }: Source, error: unknown, status = 0): UpstreamError => {
  if (error instanceof UpstreamError) return error
  if (error instanceof MalformedBody)
    return new UpstreamError(id, 'malformed', error.message, { status, cause: error })
  if (!(error instanceof SendError)) throw error
  return new UpstreamError(id, BY_REASON[error.reason], error.message, { cause: error })
}

/** True when the same request may succeed a moment later. */
export const isTransient = ({ failure, status }: UpstreamError): boolean =>
  failure === 'not_reached' || failure === 'rate_limited' || status >= 500
