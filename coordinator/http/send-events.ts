import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import {
  SSE_HEADERS,
  SSE_KEEPALIVE,
  SSE_KEEPALIVE_MS,
  sseError,
  sseEvent,
} from '../../shared/wire/sse.ts'
import type { Tell } from '../operations/context.ts'
import { bodyOf, type Outcome } from '../operations/invoke/outcome.ts'
import { toShoalError } from './errors.ts'

/**
 * Sends the events of a call while it runs, then `result` with the whole answer, `pending` or
 * `error`. A call that fails before its first event has an ordinary answer.
 */
export const sendEvents = async (
  reply: FastifyReply,
  call: (tell: Tell) => Promise<Outcome>,
): Promise<FastifyReply> => {
  const lines = new Readable({ read: () => {} })
  const put = (text: string): void => {
    if (!lines.destroyed) lines.push(text)
  }
  const first = Promise.withResolvers<void>()
  const answer = call(({ event, data }) => {
    first.resolve()
    put(sseEvent(event, data))
  })
  await Promise.race([first.promise, answer])
  const timer = setInterval(() => put(SSE_KEEPALIVE), SSE_KEEPALIVE_MS)
  lines.once('close', () => clearInterval(timer))
  answer
    .then(
      outcome => sseEvent(outcome.kind === 'pending' ? 'pending' : 'result', bodyOf(outcome)),
      error => sseError(toLoggedError(error, reply)),
    )
    .then(last => {
      clearInterval(timer)
      put(last)
      if (!lines.destroyed) lines.push(null)
    })
  return reply.headers({ ...SSE_HEADERS }).send(lines)
}

const toLoggedError = (thrown: Error & { code: string }, { request }: FastifyReply) => {
  const error = toShoalError(thrown)
  if (error.code === 'internal')
    request.log.error({ err: thrown, request: request.id }, 'request failed')
  return error
}
