import { CHAT_RULES } from '../../../shared/wire/chat-rules.ts'
import {
  COMPLETION_RULES,
  Completion,
  CompletionChunk,
  CompletionRequest,
} from '../../../shared/wire/completions.ts'
import {
  ChatCompletion,
  ChatCompletionChunk,
  ChatRequest,
  EMBEDDING_RULES,
  EmbeddingAnswer,
  EmbeddingRequest,
} from '../../../shared/wire/openai.ts'
import {
  RERANK_RULES,
  RERANK_RULES_V2,
  RerankAnswer,
  RerankRequest,
  RerankRequestV2,
} from '../../../shared/wire/rerank.ts'
import { ModelResponse, ResponseEvent } from '../../../shared/wire/response.ts'
import { ResponsesRequest } from '../../../shared/wire/responses.ts'
import { RESPONSES_RULES, STORED_RESPONSES_RULES } from '../../../shared/wire/responses-rules.ts'
import type { DirectRouter } from './direct-router.ts'
import { Inference, type InferenceParts } from './inference.ts'
import { type KeepParts, keepResponse } from './keep-response.ts'
import { takeBody } from './take-body.ts'

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
  summary: 'Create a response, whole or as server-sent events; `store: true` keeps it.',
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
export const inferenceRoutes = (
  straight: DirectRouter,
  parts: InferenceParts & Partial<KeepParts>,
): void => {
  const inference = new Inference(parts)

  straight.post('/v1/chat/completions', CHAT, async exchange => {
    const { model, stream } = takeBody(exchange, CHAT_RULES)
    await inference.infer(exchange, 'chat', { model, stream: stream === true })
  })

  straight.post('/v1/responses', RESPONSES, async exchange => {
    const { responses } = parts
    const asked = takeBody(exchange, responses ? STORED_RESPONSES_RULES : RESPONSES_RULES)
    const kept = responses ? await keepResponse(exchange, asked, { ...parts, responses }) : exchange
    const { model, stream } = asked
    await inference.infer(kept, 'chat', { model, stream: stream === true })
  })

  straight.post('/v1/completions', COMPLETION, async exchange => {
    const { model, stream } = takeBody(exchange, COMPLETION_RULES)
    await inference.infer(exchange, 'chat', { model, stream: stream === true, auto: false })
  })

  straight.post('/v1/embeddings', EMBEDDINGS, async exchange => {
    const { model } = takeBody(exchange, EMBEDDING_RULES)
    await inference.infer(exchange, 'embedding', { model, stream: false })
  })

  straight.post(RERANK_PATH, RERANK, async exchange => {
    const { model } = takeBody(exchange, RERANK_RULES)
    await inference.infer(exchange, 'rerank', { model, stream: false })
  })

  straight.post('/v2/rerank', RERANK_V2, async exchange => {
    const { model } = takeBody(exchange, RERANK_RULES_V2)
    // a cell answers both versions at one path, with the fields of both
    exchange.route = RERANK_PATH
    await inference.infer(exchange, 'rerank', { model, stream: false })
  })
}
