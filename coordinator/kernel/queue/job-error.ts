interface JobErrorOptions {
  /** True when a retry is of no use; the job is then given up at once. */
  final?: boolean
  /** Minimum delay before the next attempt, even when the back-off is shorter. */
  retryAfterSeconds?: number
  /** True when the attempt was only too early; it then does not count. */
  early?: boolean
  cause?: unknown
}

/**
 * Failure of an attempt. The message is shown to operators: it must not contain secrets or any part
 * of a response.
 */
export class JobError extends Error {
  readonly final: boolean
  readonly retryAfterSeconds: number
  readonly early: boolean

  constructor(message: string, options: JobErrorOptions = {}) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.name = 'JobError'
    this.final = options.final ?? false
    this.retryAfterSeconds = options.retryAfterSeconds ?? 0
    this.early = options.early ?? false
  }
}
