import { createHash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import type { RouteDocs } from './route-docs.ts'

const MAX_AGE_SECONDS = 60
/** Nothing in a document runs or loads anything. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"

/**
 * Serves a document that is the same for every reader and for the life of the process: created at
 * the first request, when every route is registered and the port is known, and identified by its
 * ETag.
 */
export const publishedRoute = (
  app: FastifyInstance,
  url: string,
  docs: RouteDocs,
  make: () => string,
): void => {
  const type = docs.answer === 'html' ? 'text/html' : 'application/json'
  let made: { body: string; etag: string } | undefined
  app.get(url, { config: { access: 'none', docs } }, async (request, reply) => {
    made ??= withTag(make())
    reply.header('etag', made.etag).header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`)
    reply.header('content-security-policy', POLICY).header('vary', 'authorization')
    if (hasMatchingTag(request.headers['if-none-match'], made.etag)) return reply.code(304).send()
    return reply.type(`${type}; charset=utf-8`).send(made.body)
  })
}

/** A text with the tag of its bytes. */
export const withTag = (body: string) => ({
  body,
  etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`,
})

/** RFC 9110, section 13.1.2: a list of tags or `*`, compared weakly. */
export const hasMatchingTag = (header: string | undefined, etag: string): boolean =>
  header === '*' || (header ?? '').split(',').some(tag => tag.trim().replace(/^W\//, '') === etag)
