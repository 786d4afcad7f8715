import { once } from 'node:events'
import { type AnswerEvent, type AnswerLine, EVENTS_TYPE } from '../../shared/wire/answer-events.ts'
import type { HttpResponse } from '../inference/openai/http.ts'

/**
 * Streams events with backpressure. The head waits for the first event, so that a refusal has its
 * own status.
 * @param gone aborts when the peer has left; the promise then rejects
 */
export const streamEvents = async (
  response: HttpResponse,
  events: AsyncIterable<AnswerEvent>,
  gone: AbortSignal,
): Promise<void> => {
  for await (const event of events) {
    gone.throwIfAborted()
    if (!writeLine(response, event)) await once(response, 'drain', { signal: gone })
  }
  writeLine(response, { type: 'end' })
  response.end()
}

/** Returns false when the peer has not read what it was sent. */
export const writeLine = (response: HttpResponse, line: AnswerLine): boolean => {
  if (!response.headersSent) response.setHeader('content-type', EVENTS_TYPE)
  return response.write(`${JSON.stringify(line)}\n`)
}
