import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'

/** Setting for pages of every origin. */
const ANY_ORIGIN = '*'

/**
 * An origin as browsers send it: a scheme, a host and perhaps a port, in lower case. Schemes other
 * than http are those of desktop programs and extensions, such as `app://obsidian.md`.
 */
export const isOrigin = (text: string): boolean =>
  text === ANY_ORIGIN || /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#@A-Z]+$/.test(text)

/** Response headers that scripts of an allowed page may read. */
const EXPOSED = [
  'x-request-id',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'x-ratelimit-burst',
  'ratelimit',
  'ratelimit-policy',
  'retry-after',
  'x-shoal-version',
  'x-shoal-replica',
  'x-shoal-cell',
  'x-shoal-max-tokens',
  'x-shoal-cascade',
  'x-shoal-ignored',
  'idempotency-replayed',
  'deprecation',
  'sunset',
  'link',
  'etag',
].join(', ')
const METHODS = 'GET, HEAD, POST, PUT, PATCH, DELETE'
/** Longest time for which browsers keep the answer to a preflight request. */
const MAX_AGE_SECONDS = 7200
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+(, ?[\w!#$%&'*+.^`|~-]+)*$/
const MAX_HEADER_NAMES_LENGTH = 2048

/**
 * Pages of other origins whose scripts may call this service (Fetch standard, CORS protocol). A
 * script sends its key itself, in Authorization; credentials that a browser adds on its own, such as
 * cookies, are never allowed.
 */
export class CorsPolicy {
  readonly #origins: ReadonlySet<string>
  readonly #allowsAny: boolean

  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins)
    this.#allowsAny = this.#origins.has(ANY_ORIGIN)
  }

  allows(origin: string | undefined): origin is string {
    return origin !== undefined && (this.#allowsAny || this.#origins.has(origin))
  }

  /** Headers for the answer to a request; none while no origin is configured. */
  headers({ origin }: Pick<IncomingHttpHeaders, 'origin'> = {}): OutgoingHttpHeaders {
    const shared = this.#allowsAny || this.#origins.size === 0 ? {} : { vary: 'Origin' }
    if (!this.allows(origin)) return shared
    return {
      ...shared,
      'access-control-allow-origin': this.#allowsAny ? ANY_ORIGIN : origin,
      'access-control-expose-headers': EXPOSED,
    }
  }

  /** Headers for the answer to a preflight request, besides those of every answer. */
  preflightHeaders(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
    const names = headers['access-control-request-headers']
    const isValid =
      names !== undefined && names.length <= MAX_HEADER_NAMES_LENGTH && HEADER_NAMES.test(names)
    return {
      'access-control-allow-methods': METHODS,
      ...(isValid && { 'access-control-allow-headers': names }),
      'access-control-max-age': String(MAX_AGE_SECONDS),
    }
  }
}

/**
 * Answers preflight requests of allowed origins. It must come before `auth`, since browsers send
 * these requests without a key.
 */
export const preflight = fp(async (app: FastifyInstance, { cors }: { cors: CorsPolicy }) => {
  app.addHook('onRequest', (request, reply, done) => {
    const { headers, method } = request
    const isPreflight =
      method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
    if (isPreflight && cors.allows(headers.origin))
      reply.code(204).headers(cors.preflightHeaders(headers)).send()
    else done()
  })
})
