import { CHAT_RULES } from '../../../shared/wire/chat-rules.ts'
import { HEADER_JUDGE, HEADER_MAX_TOKENS } from '../../../shared/wire/link.ts'
import type { ChatRequest } from '../../../shared/wire/openai.ts'
import type { AnswerHead } from './answer-head.ts'
import { type AnswerShape, CHAT_SHAPE } from './answer-shape.ts'
import { createInvalidFieldError } from './chat-order.ts'
import { chatWork, promptBytes, toChoiceWorks } from './chat-work.ts'
import type { CallableFunctions } from './choice.ts'
import { Choices, type ChoicesListener } from './choices.ts'
import type { RouteContext } from './context.ts'
import { type HttpRequest, type HttpResponse, readBodyOf, runOnAbort } from './http.ts'
import { findModel } from './models.ts'
import { StreamedAnswer } from './streamed-answer.ts'
import { type ActiveTools, activeTools } from './tools.ts'
import { traceDoor } from './trace-job.ts'
import { WholeAnswer } from './whole-answer.ts'

/** `POST /v1/chat/completions`. @throws ShoalError before anything is sent */
export const chat = async (
  request: HttpRequest,
  response: HttpResponse,
  gone: AbortSignal,
  context: RouteContext,
): Promise<void> => {
  const body = await readBodyOf(CHAT_RULES, request, response)
  const head = {
    id: `chatcmpl-${context.newId()}`,
    created: Math.floor(context.now() / 1000),
    model: body.model,
  }
  answerChat(body, { request, response, gone, context, head, shape: CHAT_SHAPE })
}

interface ChatExchange {
  request: HttpRequest
  response: HttpResponse
  gone: AbortSignal
  context: RouteContext
  head: AnswerHead
  shape: AnswerShape
}

/** The path that all chat takes. @throws ShoalError before anything is sent */
export const answerChat = (
  body: ChatRequest,
  { request, response, gone, context, head, shape }: ChatExchange,
): void => {
  const { entry, engine } = findModel(context.engines, body.model, 'chat')
  const asked = body.max_completion_tokens ?? body.max_tokens ?? undefined
  const maxTokens = smallest(asked, headerNumber(request, HEADER_MAX_TOKENS))
  const judgeTokens = headerNumber(request, HEADER_JUDGE)
  const active = activeTools(body)
  const wanted = body.logprobs === true ? (body.top_logprobs ?? 0) : undefined
  const judged = body.stream === true ? judgeTokens : undefined
  const work = {
    ...chatWork(body, active, context.newSeed),
    contextLength: entry.context_length,
    ...(maxTokens !== undefined && { maxTokens }),
    ...(wanted !== undefined && { topLogprobs: wanted }),
    ...(wanted === undefined && judgeTokens !== undefined && { topLogprobs: 0 }),
    ...(wanted === undefined && judged !== undefined && { logprobTokens: judged }),
  }
  let cancel = (): void => {}
  const listener = listenerFor(response, {
    body,
    asked,
    judgeTokens,
    context,
    gone,
    head,
    shape,
    cancel: () => cancel(),
  })
  const choices = new Choices(
    {
      engine: traceDoor(engine, { operation: 'chat', body, request, gone }),
      works: toChoiceWorks(work, body.n ?? 1),
      bytes: promptBytes(work),
      callable: active && callableOf(active),
      newId: context.newId,
    },
    listener,
  )
  cancel = () => choices.cancel()
  runOnAbort(gone, cancel)
}

const callableOf = ({ tools, parallel }: ActiveTools): CallableFunctions => ({
  names: tools.map(({ name }) => name),
  most: parallel ? Number.POSITIVE_INFINITY : 1,
})

/** Number in a header of the coordinator, such as the tier's limit or the tokens to judge. */
export const headerNumber = (request: HttpRequest, name: string): number | undefined => {
  const header = request.headers[name]
  if (header === undefined) return undefined
  if (typeof header === 'string' && /^[1-9]\d{0,9}$/.test(header)) return Number(header)
  throw createInvalidFieldError({ param: name, message: `${name} is not a number` })
}

const smallest = (...values: (number | undefined)[]): number | undefined => {
  const known = values.filter(value => value !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

interface Answering {
  body: ChatRequest
  asked: number | undefined
  judgeTokens: number | undefined
  context: RouteContext
  gone: AbortSignal
  head: AnswerHead
  shape: AnswerShape
  cancel: () => void
}

const listenerFor = (
  response: HttpResponse,
  { body, asked, judgeTokens, context, gone, head, shape, cancel }: Answering,
): ChoicesListener => {
  const { n, logprobs } = body
  const options = { head, asked, judgeTokens, shape, logprobs: logprobs === true, n: n ?? 1 }
  if (body.stream !== true) return new WholeAnswer(response, options)
  const includeUsage = body.stream_options?.include_usage === true
  const { repeat } = context
  const answer = new StreamedAnswer(response, { ...options, includeUsage, repeat, cancel })
  runOnAbort(gone, () => answer.close())
  return answer
}
