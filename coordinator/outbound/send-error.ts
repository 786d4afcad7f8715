import { JobError } from '../queue/job-error.ts'

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

/** Effect on a job: an address may be corrected, a busy target costs no attempt. */
export const asJobFailure = (error: unknown): unknown => {
  if (!(error instanceof SendError)) return error
  const { reason, message, retryAfterSeconds, cause } = error
  return new JobError(message, { early: reason === 'busy', retryAfterSeconds, cause })
}
