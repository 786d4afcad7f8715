/**
 * Time of the next try: immediately, after a delay, when the coordinator allows downloads again, or
 * only after an operator has acted.
 */
type Again = 'now' | 'later' | 'allowed' | 'never'

/** Weights that could not be downloaded; the message states the reason in plain words. */
export class DownloadError extends Error {
  override name = 'DownloadError'
  readonly again: Again

  constructor(message: string, again: Again, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.again = again
  }
}
