import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { errorBody, httpStatus, type ShoalError } from '../../shared/errors.ts'
import { sseError } from '../../shared/wire/sse.ts'

/** A client that does not read must not keep what it has lost. */
const FLUSH_MS = 250

/**
 * Ends an answer from outside of who writes it: as an error with a status of its own when nothing
 * was sent, else, in a stream, as its last event. Who writes it finds it ended (`writableEnded`).
 */
export const cutAnswer = (
  response: ServerResponse,
  error: ShoalError,
  headers: OutgoingHttpHeaders,
): void => {
  if (response.writableEnded || response.destroyed) return
  if (response.headersSent) response.end(sseError(error))
  else sendWhole(response, error, headers)
  const timer = setTimeout(() => response.destroy(), FLUSH_MS).unref()
  response.once('close', () => clearTimeout(timer))
}

const sendWhole = (
  response: ServerResponse,
  error: ShoalError,
  headers: OutgoingHttpHeaders,
): void => {
  const body = JSON.stringify(errorBody(error))
  const all: OutgoingHttpHeaders = {
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
    ...(error.code === 'auth_required' && { 'www-authenticate': 'Bearer realm="shoal"' }),
  }
  response.writeHead(httpStatus(error.code), all)
  response.end(body)
}
