export interface JobErrorOptions {
  /** Trying again does not help: the job is given up at once. */
  final?: boolean
  /** Not before this time has passed, whatever the back-off says. */
  retryAfterSeconds?: number
  /** The attempt does not count: it was too early, not wrong. */
  early?: boolean
  cause?: unknown
}

/** Why an attempt failed. The message is shown to operators: no secret, nothing of an answer. */
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
