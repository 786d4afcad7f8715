import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { type ErrorCode, errorBody, httpStatus, ShoalError } from '../../shared/errors.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** Fastify's own failures in our words. */
const fastifyCodes: Record<string, ErrorCode> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_request',
  FST_ERR_VALIDATION: 'invalid_request',
  FST_ERR_BAD_URL: 'invalid_request',
}

/** Anything that was thrown, as the error the client may see. What is not ours stays in the log. */
export const toShoalError = (error: FastifyError | ShoalError): ShoalError => {
  if (error instanceof ShoalError) return error
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new ShoalError('unsupported_media_type', 'content-type must be application/json')
  const issue = error.validation?.[0]
  if (issue !== undefined) return validationError(issue)
  const code =
    fastifyCodes[error.code] ?? (error.statusCode === 400 ? 'invalid_request' : undefined)
  if (code !== undefined) return new ShoalError(code, error.message, { cause: error })
  return new ShoalError('internal', 'the coordinator failed on this request', { cause: error })
}

const validationError = (issue: { instancePath: string; message?: string }): ShoalError => {
  const param = issue.instancePath.replace(/^\//, '').replaceAll('/', '.')
  const message = issue.message ?? 'not valid'
  return param === ''
    ? new ShoalError('invalid_request', message)
    : new ShoalError('invalid_request', `${param}: ${message}`, { param })
}

const send = (reply: FastifyReply, error: ShoalError): FastifyReply => {
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', error.retryAfterSeconds)
  if (error.code === 'auth_required') reply.header('www-authenticate', 'Bearer realm="shoal"')
  return reply.code(httpStatus(error.code)).send(errorBody(error))
}

/** Every error of every route has OpenAI's body, also those that never reach a route. */
export const errors = fp(async (app: FastifyInstance) => {
  app.setErrorHandler<FastifyError | ShoalError>((thrown, request, reply) => {
    const error = toShoalError(thrown)
    if (error.code === 'internal') request.log.error({ err: thrown }, 'request failed')
    return send(reply, error)
  })

  app.setNotFoundHandler((request: FastifyRequest, reply) => {
    const path = request.url.split('?')[0] ?? ''
    const allowed = METHODS.filter(method => app.findRoute({ method, url: path }) !== null)
    if (allowed.length === 0)
      return send(reply, new ShoalError('not_found', `there is nothing at ${path}`))
    reply.header('allow', allowed.join(', '))
    return send(reply, new ShoalError('method_not_allowed', `${path} takes ${allowed.join(', ')}`))
  })
})

const parserCodes: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

/** Answers on the bare socket when the request could not be read at all. */
export const clientErrorHandler = (error: NodeJS.ErrnoException, socket: Socket): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const code = parserCodes[error.code ?? ''] ?? 'invalid_request'
  const reason = code === 'invalid_request' ? 'not valid HTTP/1.1' : code.replaceAll('_', ' ')
  endWithError(socket, new ShoalError(code, reason), code === 'invalid_request' ? 400 : undefined)
}

/** Answers on a bare socket and closes it; `status` where the table's one does not fit. */
export const endWithError = (
  socket: Socket,
  error: ShoalError,
  status: number = httpStatus(error.code),
): void => {
  const body = JSON.stringify(errorBody(error))
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}
