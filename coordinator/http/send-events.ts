import type { FastifyReply } from 'fastify'
import { SSE_HEADERS, sseError, sseEvent } from '../../shared/wire/sse.ts'
import type { Tell } from '../operations/context.ts'
import type { CallListener } from '../operations/invoke/invocation.ts'
import { bodyOf, type Outcome } from '../operations/invoke/outcome.ts'
import { toShoalError } from './errors.ts'
import { limitFlush, PacedLines } from './paced-lines.ts'

/** Receives the events of a call, and the end of its key. */
export type StreamListener = Required<Pick<CallListener, 'onKeyEnd'>> & { tell: Tell }

/**
 * Sends the events of a call while it runs, then `result` with the whole answer, `pending` or
 * `error`. A call that fails before its first event has an ordinary answer. The call waits for a
 * slow reader until its time is up; once it has ended, a client that reads nothing is disconnected.
 */
export const sendEvents = async (
  reply: FastifyReply,
  call: (listener: StreamListener) => Promise<Outcome>,
): Promise<FastifyReply> => {
  const lines = new PacedLines()
  const first = Promise.withResolvers<void>()
  let isKeyEnded = false
  const answer = call({
    tell: ({ event, data }) => {
      first.resolve()
      return lines.put(sseEvent(event, data))
    },
    onKeyEnd: () => {
      isKeyEnded = true
    },
  })
  await Promise.race([first.promise, answer]).catch(error => {
    lines.stream.destroy()
    throw error
  })
  const end = (last: string): void => {
    lines.end(last)
    limitFlush(reply.raw, isKeyEnded)
  }
  answer.then(
    outcome => end(sseEvent(outcome.kind === 'pending' ? 'pending' : 'result', bodyOf(outcome))),
    thrown => end(sseError(toLoggedError(thrown, reply))),
  )
  return reply.headers({ ...SSE_HEADERS }).send(lines.stream)
}

const toLoggedError = (thrown: Error & { code: string }, { request }: FastifyReply) => {
  const error = toShoalError(thrown)
  if (error.code === 'internal')
    request.log.error({ err: thrown, request: request.id }, 'request failed')
  return error
}
