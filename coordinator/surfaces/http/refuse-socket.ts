import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { ShoalError } from '../../../shared/errors.ts'
import { systemRuntime } from '../../../shared/runtime.ts'
import { type Connection, connectionOf } from './connection.ts'
import { endWithError, parserError } from './errors.ts'
import { newRequestId } from './safety.ts'

/**
 * Answers bytes that are no request, and a request that is not whole in time, with the headers of
 * any other answer. The answers before it stay whole: a time-out waits for them, and bytes that
 * cannot be read end the connection without an answer of their own.
 */
export const refuseSocket = async (
  app: FastifyInstance,
  failure: NodeJS.ErrnoException,
  socket: Socket,
): Promise<void> => {
  const connection = connectionOf(socket)
  if (connection?.isBehindAnswer()) {
    if (!isTimeout(failure)) socket.destroy()
    else
      restartTime(connection, app.server.requestTimeout, () => refuseSocket(app, failure, socket))
    return
  }
  if (failure.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const asker = { id: newRequestId(), address: socket.remoteAddress ?? '', key: undefined }
  const { error, status } = isTimeout(failure)
    ? { error: createTimeoutError(app.server, connection), status: 408 }
    : parserError(failure)
  const headers = await app.answerHeaders(asker)
  if (connection !== undefined && isAnswered(connection)) socket.destroySoon()
  else endWithError(socket, error, headers, status)
}

const isTimeout = ({ code }: NodeJS.ErrnoException): boolean => code === 'ERR_HTTP_REQUEST_TIMEOUT'

const createTimeoutError = (
  { headersTimeout, requestTimeout }: Server,
  connection: Connection | undefined,
): ShoalError => {
  const message =
    connection?.newest?.req.complete === false
      ? `the request was not complete within ${requestTimeout / 1000} s (http.request_timeout_seconds)`
      : `the headers were not complete within ${headersTimeout / 1000} s (http.headers_timeout_seconds)`
  return new ShoalError('request_timeout', message)
}

/** True when bytes that cannot be read belong to a request that has been answered already. */
const isAnswered = ({ newest }: Connection): boolean =>
  newest?.headersSent === true && !newest.req.complete

/**
 * Gives a request its whole time again once the answers before it have ended, since its rest may
 * not have been read until then. Node's HTTP server measures it only once.
 */
const restartTime = (connection: Connection, limitMs: number, onTimeout: () => void): void => {
  const { newest } = connection
  if (newest === undefined) return
  const { req: request } = newest
  const isHeadRead = !request.complete
  const isRead = (): boolean =>
    isHeadRead ? request.complete : connection.newest !== newest && isNewestRead(connection)
  const start = (): void =>
    void systemRuntime
      .setTimeout(() => {
        if (!isRead()) onTimeout()
      }, limitMs)
      .unref()
  if (isHeadRead) request.once('resume', start)
  else newest.once('close', start)
}

const isNewestRead = ({ newest }: Connection): boolean => newest?.req.complete === true
