import type { FastifyReply } from 'fastify'
import { SSE_HEADERS, sseError, sseEvent } from '../../shared/wire/sse.ts'
import type { Tell } from '../operations/context.ts'
import { bodyOf, type Outcome } from '../operations/invoke/outcome.ts'
import { toShoalError } from './errors.ts'
import { FLUSH_MS, PacedLines } from './paced-lines.ts'

/**
 * Sends the events of a call while it runs, then `result` with the whole answer, `pending` or
 * `error`. A call that fails before its first event has an ordinary answer. The call waits for a
 * slow reader; one that reads nothing is disconnected when the time of the call is up.
 */
export const sendEvents = async (
  reply: FastifyReply,
  call: (tell: Tell) => Promise<Outcome>,
): Promise<FastifyReply> => {
  const lines = new PacedLines()
  const first = Promise.withResolvers<void>()
  const answer = call(({ event, data }) => {
    first.resolve()
    return lines.put(sseEvent(event, data))
  })
  await Promise.race([first.promise, answer]).catch(error => {
    lines.end()
    throw error
  })
  answer.then(
    outcome =>
      lines.end(sseEvent(outcome.kind === 'pending' ? 'pending' : 'result', bodyOf(outcome))),
    thrown => {
      const error = toLoggedError(thrown, reply)
      lines.end(sseError(error))
      if (error.code === 'request_timeout') disconnectSoon(reply)
    },
  )
  return reply.headers({ ...SSE_HEADERS }).send(lines.stream)
}

const disconnectSoon = ({ raw }: FastifyReply): void =>
  void setTimeout(() => {
    if (!raw.writableFinished) raw.destroy()
  }, FLUSH_MS).unref()

const toLoggedError = (thrown: Error & { code: string }, { request }: FastifyReply) => {
  const error = toShoalError(thrown)
  if (error.code === 'internal')
    request.log.error({ err: thrown, request: request.id }, 'request failed')
  return error
}
