import type { FastifyReply } from 'fastify'
import type { ErrorCode } from '../../shared/errors.ts'
import { SSE_HEADERS, sseError, sseEvent } from '../../shared/wire/sse.ts'
import type { Tell } from '../operations/context.ts'
import { bodyOf, type Outcome } from '../operations/invoke/outcome.ts'
import { toShoalError } from './errors.ts'
import { limitFlush, PacedLines } from './paced-lines.ts'

/**
 * Sends the events of a call while it runs, then `result` with the whole answer, `pending` or
 * `error`. A call that fails before its first event has an ordinary answer. The call waits for a
 * slow reader until its time is up; once it has ended, a client that reads nothing is disconnected.
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
    lines.stream.destroy()
    throw error
  })
  const end = (last: string, isKeyEnded = false): void => {
    lines.end(last)
    limitFlush(reply.raw, isKeyEnded)
  }
  answer.then(
    outcome => end(sseEvent(outcome.kind === 'pending' ? 'pending' : 'result', bodyOf(outcome))),
    thrown => {
      const error = toLoggedError(thrown, reply)
      end(sseError(error), KEY_END_CODES.includes(error.code))
    },
  )
  return reply.headers({ ...SSE_HEADERS }).send(lines.stream)
}

/** Codes of the errors that end the calls of a key. */
const KEY_END_CODES: readonly ErrorCode[] = ['auth_required', 'tenant_forbidden', 'forbidden']

const toLoggedError = (thrown: Error & { code: string }, { request }: FastifyReply) => {
  const error = toShoalError(thrown)
  if (error.code === 'internal')
    request.log.error({ err: thrown, request: request.id }, 'request failed')
  return error
}
