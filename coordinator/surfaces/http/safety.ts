import type { IncomingMessage, Server } from 'node:http'
import type { FastifyHttpOptions, FastifyInstance, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { ShoalError } from '../../../shared/errors.ts'
import { randomId } from '../../../shared/ids.ts'
import { JSON_TYPE } from '../../../shared/json-type.ts'
import { HEADER_REQUEST_ID } from '../../../shared/wire/link.ts'
import { isLoopback } from '../../kernel/base/is-loopback.ts'
import { listServerNames } from '../../kernel/tls/server-identity.ts'
import { parseJsonBody } from './json-body.ts'
import { outcome } from './outcome.ts'
import type { ListenerSettings } from './public-config.ts'
import { normaliseAddress } from './trusted-proxies.ts'
import { isUpgrade } from './upgrades.ts'

export const newRequestId = (): string => `req_${randomId()}`

const REQUEST_ID = /^[\w.:-]{1,128}$/

/** The client's own id where it sent a usable one. */
export const requestId = ({ headers }: Pick<IncomingMessage, 'headers'>): string => {
  const asked = headers[HEADER_REQUEST_ID]
  return typeof asked === 'string' && REQUEST_ID.test(asked) ? asked : newRequestId()
}

/** Time and size limits of the listener; Fastify's own have no time limit. */
export const serverLimits = ({ http }: ListenerSettings) =>
  ({
    bodyLimit: http.body_limit_bytes,
    requestTimeout: http.request_timeout_seconds * 1000,
    keepAliveTimeout: 72_000,
    forceCloseConnections: true,
    routerOptions: { maxParamLength: 512 },
    http: {
      headersTimeout: http.headers_timeout_seconds * 1000,
      connectionsCheckingInterval: 1000,
      maxHeaderSize: 16 * 1024,
      shouldUpgradeCallback: isUpgrade,
      // Node's own answer to a missing Host has no body
      requireHostHeader: false,
    },
    genReqId: requestId,
  }) satisfies FastifyHttpOptions<Server>

/** Names a request may carry in Host: those that our own certificate is for. */
export const listAllowedHosts = (config: ListenerSettings): ReadonlySet<string> =>
  new Set(listServerNames(config).map(name => (name.includes(':') ? `[${name}]` : name)))

/** Host of a request target in absolute form, which counts instead of Host (RFC 9112, 3.2.2). */
const targetHost = (target: string): string | undefined =>
  target.startsWith('/') ? undefined : /^https?:\/\/([^/?#]*)/i.exec(target)?.[1]

const hostName = (host: string): string => host.replace(/:\d+$/, '').toLowerCase()

/** True when a header occurs more than once in a raw request; Node silently drops a second one. */
const repeats = ({ rawHeaders }: IncomingMessage, name: string): boolean => {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name) count++
  return count > 1
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for an answer without information, which balancers ask for by address or with no Host. */
    ignoresHost?: boolean
  }
}

/**
 * Checks for HTTP/1, one allowed Host, against DNS rebinding, and one Authorization. Throws. With
 * `ignoresHost` any Host is allowed, and none.
 */
export const headerCheck = (
  config: ListenerSettings,
): ((request: IncomingMessage, ignoresHost?: boolean) => void) => {
  const hosts = listAllowedHosts(config)
  const requireKnown = (host: string, request: IncomingMessage): void => {
    const name = hostName(host)
    if (!hosts.has(name) && !isLoopback(name) && name !== ownAddress(request))
      throw new ShoalError('host_not_allowed', `unknown host ${JSON.stringify(name)}`)
  }
  return (request, ignoresHost = false) => {
    if (request.httpVersionMajor !== 1)
      throw new ShoalError(
        'http_version_unsupported',
        `HTTP/${request.httpVersion} is not supported on this connection; use HTTP/1.1`,
      )
    const target = targetHost(request.url ?? '/')
    if (!ignoresHost) requireKnown(request.headers.host ?? '', request)
    if (target !== undefined) requireKnown(target, request)
    for (const header of ['host', 'authorization'])
      if (repeats(request, header))
        throw new ShoalError('invalid_request', `header ${header} is sent twice`, { param: header })
  }
}

/** Local address of the connection; a page of another origin cannot make a name point to it. */
const ownAddress = ({ socket }: IncomingMessage): string | undefined => {
  const address = normaliseAddress(socket.localAddress ?? '')
  return address.includes(':') ? `[${address}]` : address || undefined
}

/**
 * Checks on every request before its handler: one allowed Host (against DNS rebinding), one
 * Authorization, and a JSON body of bounded size and depth.
 */
export const safety = fp(async (app: FastifyInstance, { config }: { config: ListenerSettings }) => {
  const check = headerCheck(config)
  app.addHook('onRequest', (request, _reply, done) =>
    outcome(() => check(request.raw, request.routeOptions.config.ignoresHost), done),
  )

  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    JSON_TYPE,
    { parseAs: 'buffer' },
    (_request: FastifyRequest, bytes: Buffer, done) => {
      let body: unknown
      outcome(
        () => {
          body = parseJsonBody(bytes)
        },
        error => (error === undefined ? done(null, body) : done(error)),
      )
    },
  )
})
