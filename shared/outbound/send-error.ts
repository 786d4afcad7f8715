type SendReason =
  | 'refused'
  | 'busy'
  | 'not_resolved'
  | 'not_reached'
  | 'timed_out'
  | 'too_large'
  | 'aborted'

/** Reason why a request has no answer. The message repeats nothing of the answer. */
export class SendError extends Error {
  readonly reason: SendReason
  /** Time to retry after `busy`, if known. */
  readonly retryAfterSeconds: number

  constructor(
    reason: SendReason,
    message: string,
    { retryAfterSeconds = 0, cause }: { retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? {} : { cause })
    this.name = 'SendError'
    this.reason = reason
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Names of failures of TLS and sockets tell enough; their texts may quote the other side. */
export const asSendError = (error: unknown): SendError => {
  if (error instanceof SendError) return error
  const { code = 'unknown' } = error as NodeJS.ErrnoException
  return new SendError('not_reached', `the target was not reached (${code})`, { cause: error })
}
