import { HEADER_MAX_TOKENS } from '../../../shared/wire/link.ts'
import type { ChatRequest } from '../../../shared/wire/openai.ts'
import type { EngineEvent } from '../jobs.ts'
import { StreamedAnswer, wholeAnswer } from './chat-answer.ts'
import { invalid, parseChatRequest, plainMessages, samplingOf } from './chat-order.ts'
import type { RouteContext } from './context.ts'
import { type HttpRequest, type HttpResponse, readJson, whenAborted } from './http.ts'
import { findModel } from './models.ts'
import { traceJob } from './trace-job.ts'

/** `POST /v1/chat/completions`. @throws ShoalError before anything is sent */
export const chat = async (
  request: HttpRequest,
  response: HttpResponse,
  gone: AbortSignal,
  context: RouteContext,
): Promise<void> => {
  const body = parseChatRequest(await readJson(request))
  const { entry, engine } = findModel(context.engines, body.model, 'chat')
  const asked = body.max_completion_tokens ?? body.max_tokens ?? undefined
  const maxTokens = smallest(asked, tierBound(request))
  const messages = plainMessages(body)
  let cancel = (): void => {}
  const listener = listenerFor(response, { body, asked, context, gone, cancel: () => cancel() })
  cancel = engine.submit(
    {
      type: 'chat',
      messages,
      contextLength: entry.context_length,
      sampling: samplingOf(body, context.newSeed),
      ...(maxTokens !== undefined && { maxTokens }),
    },
    messages.reduce((sum, message) => sum + message.text.length, 0),
    traceJob({ operation: 'chat', body, request, gone }, listener),
  )
  whenAborted(gone, cancel)
}

/** The tier's bound that the coordinator sends along. */
const tierBound = (request: HttpRequest): number | undefined => {
  const header = request.headers[HEADER_MAX_TOKENS]
  if (header === undefined) return undefined
  if (typeof header === 'string' && /^[1-9]\d{0,9}$/.test(header)) return Number(header)
  throw invalid({ param: HEADER_MAX_TOKENS, message: `${HEADER_MAX_TOKENS} is not a number` })
}

const smallest = (...values: (number | undefined)[]): number | undefined => {
  const known = values.filter(value => value !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

interface Answering {
  body: ChatRequest
  asked: number | undefined
  context: RouteContext
  gone: AbortSignal
  cancel: () => void
}

const listenerFor = (
  response: HttpResponse,
  { body, asked, context, gone, cancel }: Answering,
): ((event: EngineEvent) => void) => {
  const head = {
    id: `chatcmpl-${context.newId()}`,
    created: Math.floor(context.now() / 1000),
    model: body.model,
  }
  if (body.stream !== true) return wholeAnswer(response, { head, asked })
  const includeUsage = body.stream_options?.include_usage === true
  const { repeat } = context
  const answer = new StreamedAnswer(response, { head, asked, includeUsage, repeat, cancel })
  whenAborted(gone, () => answer.close())
  return answer.listener
}
