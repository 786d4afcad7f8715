import { ShoalError } from '../../../shared/errors.ts'
import { CHAT_RULES } from '../../../shared/wire/chat-rules.ts'
import { readRequest } from '../../../shared/wire/read-request.ts'
import { RESPONSES_RULES } from '../../../shared/wire/responses-rules.ts'
import { answerChat } from './chat.ts'
import type { RouteContext } from './context.ts'
import { type HttpRequest, type HttpResponse, readBodyOf } from './http.ts'
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
  const body = await readBodyOf(RESPONSES_RULES, request, response)
  const nowSeconds = (): number => Math.floor(context.now() / 1000)
  const head = { id: `resp_${context.newId()}`, created: nowSeconds(), model: body.model }
  try {
    const { request: chat } = readRequest(CHAT_RULES, chatBodyOf(body))
    const shape = responseShape(body, head, nowSeconds)
    answerChat(chat, { request, response, gone, context, head, shape })
  } catch (error) {
    throw error instanceof ShoalError ? renameField(error) : error
  }
}
