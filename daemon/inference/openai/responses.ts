import { ShoalError } from '../../../shared/errors.ts'
import { findRequestIssue, ResponsesRequest } from '../../../shared/wire/responses.ts'
import { findUnsupported } from '../../../shared/wire/responses-unsupported.ts'
import { answerChat } from './chat.ts'
import { createInvalidFieldError, parseChatRequest } from './chat-order.ts'
import type { RouteContext } from './context.ts'
import { type HttpRequest, type HttpResponse, readJson } from './http.ts'
import { renameField, responseShape } from './response-shape.ts'
import { chatBodyOf } from './responses-chat.ts'

/**
 * `POST /v1/responses`: the chat path with another request and another answer around it.
 *
 * @throws ShoalError before anything is sent
 */
export const responses = async (
  request: HttpRequest,
  response: HttpResponse,
  gone: AbortSignal,
  context: RouteContext,
): Promise<void> => {
  const body = parseResponsesRequest(await readJson(request))
  const nowSeconds = (): number => Math.floor(context.now() / 1000)
  const head = { id: `resp_${context.newId()}`, created: nowSeconds(), model: body.model }
  try {
    const chat = parseChatRequest(chatBodyOf(body))
    const shape = responseShape(body, head, nowSeconds)
    answerChat(chat, { request, response, gone, context, head, shape })
  } catch (error) {
    throw error instanceof ShoalError ? renameField(error) : error
  }
}

/** @throws ShoalError invalid_request or unsupported_parameter, with `param` */
export const parseResponsesRequest = (body: unknown): ResponsesRequest => {
  const parsed = ResponsesRequest.safeParse(body)
  if (!parsed.success) throw createInvalidFieldError(findRequestIssue(body, parsed.error))
  const unserved = findUnsupported(parsed.data)
  if (unserved === undefined) return parsed.data
  throw new ShoalError('unsupported_parameter', unserved.message, { param: unserved.param })
}
