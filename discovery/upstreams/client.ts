import type { Reading } from '../../shared/foreign/document.ts'
import type { UpstreamSource } from '../../shared/wire/findings.ts'
import type { Source } from './source.ts'

/** One request to a source. */
export interface UpstreamRequest {
  source: Source
  /** Path below the address of the source: `/locationforecast/2.0/compact`. */
  path: string
  query?: Readonly<Record<string, string | number | readonly string[] | undefined>>
  /**
   * Address in place of that of the source, where an answer or the caller names it: a server of a
   * registry. Only a public one is asked, or one of `outbound.allow`.
   */
  baseUrl?: string
  /** Statuses beside 2xx that are answers, such as 404 of a registry. */
  accepts?: readonly number[]
  /** JSON body; with one the request is a POST, which is cached by its body. */
  body?: object
  headers?: Readonly<Record<string, string>>
  /** Form of a good answer; one of another form, such as a page for people, is a failure. */
  form: Reading['format']
  /** Bounds of the answer, and the function that reduces it off the event loop. */
  reading?: Omit<Reading, 'format'>
}

/** Answer of a source or of its cache. */
export interface UpstreamAnswer {
  status: number
  /** Parsed document, what its reader made of it, or the text. The cache shares it: never change it. */
  body: unknown
  headers: Readonly<Record<string, string>>
  /** Provenance, as it is listed in the answer. */
  source: UpstreamSource
}

/** Why a source gave nothing. Its name and kind are in the message; secrets never are. */
export type UpstreamFailure =
  | 'offline'
  | 'not_found'
  | 'refused'
  | 'rate_limited'
  | 'too_large'
  | 'malformed'
  | 'timed_out'
  | 'not_reached'
  | 'auth_missing'
  | 'failed'

export class UpstreamError extends Error {
  override readonly name = 'UpstreamError'
  readonly source: string
  readonly failure: UpstreamFailure
  /** Status of the source; 0 without one. */
  readonly status: number
  readonly retryAfterSeconds: number | undefined

  constructor(
    source: string,
    failure: UpstreamFailure,
    message: string,
    options: { status?: number; retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(`${source}: ${message}`, { cause: options.cause })
    this.source = source
    this.failure = failure
    this.status = options.status ?? 0
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}
