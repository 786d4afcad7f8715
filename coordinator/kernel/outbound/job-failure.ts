import { SendError } from '../../../shared/outbound/send-error.ts'
import { JobError } from '../queue/job-error.ts'

/** Effect on a job: an address may be corrected, a busy target costs no attempt. */
export const asJobFailure = (error: unknown): unknown => {
  if (!(error instanceof SendError)) return error
  const { reason, message, retryAfterSeconds, cause } = error
  return new JobError(message, { early: reason === 'busy', retryAfterSeconds, cause })
}
