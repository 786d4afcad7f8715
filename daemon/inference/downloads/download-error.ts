/** Weights that could not be fetched; the message says why, in plain words. */
export class DownloadError extends Error {
  override name = 'DownloadError'
  /** True when it may work later without anybody doing something. */
  readonly passing: boolean

  constructor(message: string, passing: boolean, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.passing = passing
  }
}
