import { type OutgoingHttpHeaders, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import {
  type ErrorCode,
  errorBody,
  httpStatus,
  retryAfterOf,
  ShoalError,
} from '../../../shared/errors.ts'
import { isOllamaPath, ollamaError, ollamaStatus } from './ollama/ollama-error.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** Codes for Fastify's own errors. */
const fastifyCodes: Record<string, ErrorCode> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_request',
  FST_ERR_VALIDATION: 'invalid_request',
  FST_ERR_BAD_URL: 'invalid_request',
}

/**
 * Converts anything thrown to the error for the client. Details of foreign errors stay in the log.
 */
export const toShoalError = (error: FastifyError | ShoalError): ShoalError => {
  if (error instanceof ShoalError) return error
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new ShoalError(
      'unsupported_media_type',
      'content-type must be application/json in UTF-8',
    )
  // Fastify's message contains the whole path
  if (error.code === 'FST_ERR_MAX_PARAM_LENGTH')
    return new ShoalError('invalid_request', 'a path segment is too long', { cause: error })
  const issue = error.validation?.[0]
  if (issue !== undefined) return validationError(issue)
  const code =
    fastifyCodes[error.code] ?? (error.statusCode === 400 ? 'invalid_request' : undefined)
  if (code !== undefined) return new ShoalError(code, error.message, { cause: error })
  return new ShoalError('internal', 'the coordinator failed to handle this request', {
    cause: error,
  })
}

const validationError = (issue: { instancePath: string; message?: string }): ShoalError => {
  const param = issue.instancePath.replace(/^\//, '').replaceAll('/', '.')
  const message = issue.message ?? 'not valid'
  return param === ''
    ? new ShoalError('invalid_request', message)
    : new ShoalError('invalid_request', `${param}: ${message}`, { param })
}

/** Headers that only error answers have. */
const errorHeaders = (error: ShoalError): OutgoingHttpHeaders => {
  const retryAfter = retryAfterOf(error)
  return {
    ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
    ...(error.code === 'auth_required' && { 'www-authenticate': 'Bearer realm="shoal"' }),
  }
}

/** Body of an error in the form that clients of the path read. */
const bodyFor = (path: string, error: ShoalError): object =>
  isOllamaPath(path) ? ollamaError(error) : errorBody(error)

const statusFor = (path: string, error: ShoalError): number =>
  isOllamaPath(path) ? ollamaStatus(error) : httpStatus(error.code)

/** Sends an error on any route. */
export const sendError = (reply: FastifyReply, error: ShoalError): FastifyReply =>
  reply
    .headers(errorHeaders(error))
    .code(statusFor(reply.request.url, error))
    .send(bodyFor(reply.request.url, error))

/** Writes an error of a route without Fastify; `headers` are those of every answer. */
export const writeError = (
  response: ServerResponse,
  route: string,
  error: ShoalError,
  headers: OutgoingHttpHeaders,
): void => {
  const body = JSON.stringify(bodyFor(route, error))
  response.writeHead(statusFor(route, error), {
    ...headers,
    ...errorHeaders(error),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}

interface ErrorParts {
  /** Receives the code of every error that is answered. */
  onError?: (code: ErrorCode) => void
}

/** Every error of every route has OpenAI's body, also those that never reach a route. */
export const errors = fp(async (app: FastifyInstance, { onError }: ErrorParts) => {
  app.setErrorHandler<FastifyError | ShoalError>((thrown, request, reply) => {
    const error = toShoalError(thrown)
    onError?.(error.code)
    if (error.code === 'internal')
      request.log.error({ err: thrown, request: request.id }, 'request failed')
    return sendError(reply, error)
  })

  app.setNotFoundHandler((request, reply) =>
    sendError(reply, createNotFoundError(app, request, reply)),
  )
})

/**
 * Refuses a request that hits no route before its body is read: nobody needs it. It comes after
 * `auth`, which counts the request.
 */
export const missingRoutes = fp(async (app: FastifyInstance) => {
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404) done(createNotFoundError(app, request, reply))
    else done()
  })
})

const createNotFoundError = (
  app: FastifyInstance,
  request: FastifyRequest,
  reply: FastifyReply,
): ShoalError => {
  const path = request.url.split('?')[0] ?? ''
  const allowed = METHODS.filter(method => app.findRoute({ method, url: path }) !== null)
  if (allowed.length === 0) return new ShoalError('not_found', describeMissingRoute(path))
  reply.header('allow', allowed.join(', '))
  const named = allowed.filter(method => method !== 'HEAD')
  return new ShoalError('method_not_allowed', `${path} supports ${named.join(', ')}`)
}

const ROUTES = 'the API is under /v1, and /docs lists every route'

/** Hint for the bare address of the service, or one without `/v1`, which people try first. */
const describeMissingRoute = (path: string): string =>
  path === '/v1' || path.startsWith('/v1/')
    ? `no route at ${path}; /docs lists every route`
    : `no route at ${path}; ${ROUTES}`

const parserCodes: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
}

/** Answer to a request that could not be parsed at all; its status is 400 where others use 422. */
export const parserError = (
  error: NodeJS.ErrnoException,
): { error: ShoalError; status: number } => {
  const code = parserCodes[error.code ?? '']
  if (code === undefined)
    return { error: new ShoalError('invalid_request', 'not valid HTTP/1.1'), status: 400 }
  return { error: new ShoalError(code, code.replaceAll('_', ' ')), status: httpStatus(code) }
}

/**
 * Answers on a bare socket and closes it, also when the peer keeps its side open: the HTTP server
 * no longer looks after such a socket.
 */
export const endWithError = (
  socket: Socket,
  error: ShoalError,
  headers: OutgoingHttpHeaders = {},
  status: number = httpStatus(error.code),
): void => {
  const body = JSON.stringify(errorBody(error))
  const retryAfter = retryAfterOf(error)
  const all = { ...headers, ...(retryAfter !== undefined && { 'retry-after': retryAfter }) }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...lines,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  socket.destroySoon()
}
