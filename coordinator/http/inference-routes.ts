import type * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import { firstIssue } from '../../shared/first-issue.ts'
import {
  Completion,
  CompletionChunk,
  CompletionRequest,
  findContradiction,
  findUnsupportedParameter,
} from '../../shared/wire/completions.ts'
import {
  ChatCompletion,
  ChatCompletionChunk,
  ChatRequest,
  EmbeddingAnswer,
  EmbeddingRequest,
  findUnsupportedField,
} from '../../shared/wire/openai.ts'
import { RerankAnswer, RerankRequest, RerankRequestV2 } from '../../shared/wire/rerank.ts'
import { ModelResponse, ResponseEvent } from '../../shared/wire/response.ts'
import { findRequestIssue, ResponsesRequest } from '../../shared/wire/responses.ts'
import { findUnsupported } from '../../shared/wire/responses-unsupported.ts'
import type { DirectRouter } from './direct-router.ts'
import { Inference, type InferenceParts } from './inference.ts'

interface Problem {
  param: string | undefined
  message: string
}

/** Validates a body. Throws `invalid_request`. */
export const parseBody = <T extends z.ZodType>(
  schema: T,
  body: unknown,
  issueOf: (error: z.ZodError, body: unknown) => Problem = firstIssue,
): z.output<T> => {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  throw refusal('invalid_request', issueOf(result.error, body))
}

const refusal = (
  code: 'invalid_request' | 'unsupported_parameter',
  { param, message }: Problem,
): ShoalError => new ShoalError(code, message, param === undefined ? {} : { param })

const CHAT = {
  id: 'create-chat-completion',
  tag: 'inference',
  summary: 'Create a chat completion, whole or as server-sent events.',
  body: ChatRequest,
  example: { model: 'model-a:7b', messages: [{ role: 'user', content: 'What is a cell?' }] },
  answer: ChatCompletion,
  events: ChatCompletionChunk,
}
const COMPLETION = {
  id: 'create-completion',
  tag: 'inference',
  summary: 'Complete a prompt, whole or as server-sent events (legacy).',
  body: CompletionRequest,
  answer: Completion,
  events: CompletionChunk,
}
const RESPONSES = {
  id: 'create-response',
  tag: 'inference',
  summary: 'Create a response, whole or as server-sent events; nothing is stored.',
  body: ResponsesRequest,
  answer: ModelResponse,
  events: ResponseEvent,
}
const EMBEDDINGS = {
  id: 'create-embedding',
  tag: 'inference',
  summary: 'Create embeddings of one or more texts.',
  body: EmbeddingRequest,
  example: { model: 'embed-a', input: ['a cell', 'a coordinator'] },
  answer: EmbeddingAnswer,
}
const RERANK = {
  id: 'create-rerank',
  tag: 'inference',
  summary: 'Order documents by their relevance to a query; needs a model of kind rerank.',
  body: RerankRequest,
  answer: RerankAnswer,
}

const RERANK_PATH = '/v1/rerank'
const RERANK_V2 = {
  id: 'create-rerank-v2',
  tag: 'inference',
  summary: "Order documents by their relevance to a query, in the shape of Cohere's v2.",
  body: RerankRequestV2,
  answer: RerankAnswer,
}

/**
 * `POST /v1/chat/completions`, `/v1/responses`, `/v1/completions`, `/v1/embeddings`, `/v1/rerank`
 * and `/v2/rerank`.
 */
export const inferenceRoutes = (straight: DirectRouter, parts: InferenceParts): void => {
  const inference = new Inference(parts)

  straight.post('/v1/chat/completions', CHAT, async exchange => {
    const body = parseBody(ChatRequest, exchange.body)
    const unserved = findUnsupportedField(body)
    if (unserved !== undefined)
      throw new ShoalError('unsupported_parameter', `${unserved} is not supported`, {
        param: unserved,
      })
    await inference.infer(exchange, 'chat', { model: body.model, stream: body.stream === true })
  })

  straight.post('/v1/responses', RESPONSES, async exchange => {
    const body = parseBody(ResponsesRequest, exchange.body, error =>
      findRequestIssue(exchange.body, error),
    )
    const unserved = findUnsupported(body)
    if (unserved) throw refusal('unsupported_parameter', unserved)
    await inference.infer(exchange, 'chat', { model: body.model, stream: body.stream === true })
  })

  straight.post('/v1/completions', COMPLETION, async exchange => {
    const body = parseBody(CompletionRequest, exchange.body)
    const unserved = findUnsupportedParameter(body)
    if (unserved) throw refusal('unsupported_parameter', unserved)
    const wrong = findContradiction(body)
    if (wrong) throw refusal('invalid_request', wrong)
    const { model, stream } = body
    await inference.infer(exchange, 'chat', { model, stream: stream === true, auto: false })
  })

  straight.post('/v1/embeddings', EMBEDDINGS, async exchange => {
    const body = parseBody(EmbeddingRequest, exchange.body)
    await inference.infer(exchange, 'embedding', { model: body.model, stream: false })
  })

  straight.post(RERANK_PATH, RERANK, async exchange => {
    const body = parseBody(RerankRequest, exchange.body)
    await inference.infer(exchange, 'rerank', { model: body.model, stream: false })
  })

  straight.post('/v2/rerank', RERANK_V2, async exchange => {
    const body = parseBody(RerankRequestV2, exchange.body)
    // a cell answers both versions at one path, with the fields of both
    exchange.route = RERANK_PATH
    await inference.infer(exchange, 'rerank', { model: body.model, stream: false })
  })
}
