import type { OutgoingHttpHeaders } from 'node:http'
import { errorBody, httpStatus, type ShoalError } from '../../../shared/errors.ts'
import { stopTimer, systemRuntime } from '../../../shared/runtime.ts'
import { sseError } from '../../../shared/wire/sse.ts'
import type { ClientResponse } from '../../gateway/dispatch/client-response.ts'

/**
 * Time for the last event to be flushed; a client that does not read must not keep the connection.
 */
const FLUSH_MS = 250

/**
 * Ends a response from outside its writer: with an error status if nothing was sent, otherwise, in
 * a stream, with a last event. The writer finds the response ended (`writableEnded`).
 */
export const cutAnswer = (
  response: ClientResponse,
  error: ShoalError,
  headers: OutgoingHttpHeaders,
): void => {
  if (response.writableEnded || response.destroyed) return
  if (response.headersSent) response.end(sseError(error))
  else sendWhole(response, error, headers)
  limitFlush(response)
}

/** Destroys a response that has not closed by the time in which it can be flushed. */
export const limitFlush = (response: ClientResponse): void => {
  const timer = systemRuntime.setTimeout(() => response.destroy(), FLUSH_MS).unref()
  response.once('close', () => stopTimer(timer))
}

const sendWhole = (
  response: ClientResponse,
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
