import type { FastifyReply } from 'fastify'
import { SSE_HEADERS, sseError, sseEvent } from '../../../shared/wire/sse.ts'
import type { CallListener } from '../../calls/invoke/invocation.ts'
import type { Tell, Told } from '../../kernel/declaration/context.ts'
import { bodyOf, type Outcome } from '../../kernel/declaration/outcome.ts'
import { toShoalError } from './errors.ts'
import { limitFlush, PacedLines } from './paced-lines.ts'

/** Receives the events of a call, and the end of its key. */
export type StreamListener = Required<Pick<CallListener, 'onKeyEnd'>> & { tell: Tell }

type RunCall = (listener: StreamListener) => Promise<Outcome>

/**
 * Sends the events of a call while it runs, then `result` with the whole answer, `pending` or
 * `error`. A call that fails before its first event has an ordinary answer. The call waits for a
 * slow reader until its time is up; once it has ended, a client that reads nothing is disconnected.
 */
export const sendEvents = (reply: FastifyReply, call: RunCall): Promise<FastifyReply> =>
  sendTold(reply, call, {
    lines: new PacedLines(),
    format: ({ event, data }) => sseEvent(event, data),
    headers: () => SSE_HEADERS,
    last: outcome => sseEvent(outcome.kind === 'pending' ? 'pending' : 'result', bodyOf(outcome)),
    fail: (thrown, end) => end(sseError(toLoggedError(thrown, reply))),
  })

/**
 * Sends text that a call tells in parts, with their event as its media type. A call that fails
 * later than its first part ends the connection, so that no client takes a part for the whole.
 */
export const sendText = (reply: FastifyReply, call: RunCall): Promise<FastifyReply> => {
  const lines = new PacedLines(false)
  return sendTold(reply, call, {
    lines,
    format: ({ data }) => String(data),
    headers: type => ({ 'content-type': type }),
    last: () => '',
    fail: thrown => {
      toLoggedError(thrown, reply)
      lines.stream.destroy(thrown)
    },
  })
}

interface ToldForm {
  lines: PacedLines
  format: (told: Told) => string
  headers: (firstEvent: string) => Record<string, string>
  last: (outcome: Outcome) => string
  fail: (thrown: Error & { code: string }, end: (last: string) => void) => void
}

const sendTold = async (
  reply: FastifyReply,
  call: RunCall,
  { lines, format, headers, last, fail }: ToldForm,
): Promise<FastifyReply> => {
  const first = Promise.withResolvers<string>()
  let isKeyEnded = false
  const answer = call({
    tell: told => {
      first.resolve(told.event)
      return lines.put(format(told))
    },
    onKeyEnd: () => {
      isKeyEnded = true
    },
  })
  const event = await Promise.race([first.promise, answer.then(() => '')]).catch(error => {
    lines.stream.destroy()
    throw error
  })
  const end = (text: string): void => {
    lines.end(text)
    limitFlush(reply.raw, isKeyEnded)
  }
  answer.then(
    outcome => end(last(outcome)),
    thrown => fail(thrown, end),
  )
  return reply.headers({ ...headers(event) }).send(lines.stream)
}

const toLoggedError = (thrown: Error & { code: string }, { request }: FastifyReply) => {
  const error = toShoalError(thrown)
  if (error.code === 'internal')
    request.log.error({ err: thrown, request: request.id }, 'request failed')
  return error
}
