import { detailsOf, ShoalError } from '../../../shared/errors.ts'
import type { ResponseEvent } from '../../../shared/wire/response.ts'
import type { ResponsesRequest } from '../../../shared/wire/responses.ts'
import { sseEvent } from '../../../shared/wire/sse.ts'
import type { AnswerHead } from './answer-head.ts'
import type { AnswerShape } from './answer-shape.ts'
import { ResponseEvents } from './response-events.ts'
import { wholeResponse } from './response-whole.ts'
import { responsesParam } from './responses-chat.ts'

/**
 * The answers of the chat path as the Responses API has them. The last event of a stream goes out
 * together with `[DONE]`: the coordinator holds that back until the usage is on record.
 *
 * @param nowSeconds unix time
 */
export const responseShape = (
  request: ResponsesRequest,
  head: AnswerHead,
  nowSeconds: () => number,
): AnswerShape => ({
  toBody: completion => wholeResponse(request, head, completion, nowSeconds()),
  createSink: stream => {
    const events = new ResponseEvents(request, head)
    return {
      send: chunk => stream.sendText(writeEvents(events.chunk(chunk))),
      finish: usage => stream.finish(usage, writeEvents(events.end(usage, nowSeconds()))),
      fail: error => {
        stream.sendText(writeEvents(events.fail(error)))
        stream.fail(error)
      },
    }
  },
  toError: renameField,
})

const writeEvents = (events: readonly ResponseEvent[]): string =>
  events.map(event => sseEvent(event.type, event)).join('')

/** Returns the error with the field name that the caller used. */
export const renameField = (error: ShoalError): ShoalError => {
  const { code, message, param, cause } = error
  if (param === undefined) return error
  const details = { ...detailsOf(error), param: responsesParam(param) }
  return new ShoalError(code, message, { ...details, cause })
}
