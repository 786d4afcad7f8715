import type { FastifyPluginAsync } from 'fastify'
import type * as z from 'zod'
import { ShoalError } from '../../shared/errors.ts'
import {
  ChatCompletion,
  ChatCompletionChunk,
  ChatRequest,
  EmbeddingAnswer,
  EmbeddingRequest,
  firstIssue,
  unservedField,
} from '../../shared/wire/openai.ts'
import { createInference, type InferenceParts } from './inference.ts'

const valid = <T extends z.ZodType>(schema: T, body: unknown): z.output<T> => {
  const result = schema.safeParse(body)
  if (result.success) return result.data
  const { param, message } = firstIssue(result.error)
  throw new ShoalError('invalid_request', message, param === undefined ? {} : { param })
}

const CHAT = {
  id: 'create-chat-completion',
  tag: 'inference',
  summary: 'A chat completion, whole or as server-sent events.',
  body: ChatRequest,
  example: { model: 'model-a:7b', messages: [{ role: 'user', content: 'What is a cell?' }] },
  answer: ChatCompletion,
  events: ChatCompletionChunk,
}
const EMBEDDINGS = {
  id: 'create-embedding',
  tag: 'inference',
  summary: 'Vectors for one or more texts.',
  body: EmbeddingRequest,
  example: { model: 'embed-a', input: ['a cell', 'a coordinator'] },
  answer: EmbeddingAnswer,
}

/** `POST /v1/chat/completions` and `POST /v1/embeddings`. */
export const inferenceRoutes: FastifyPluginAsync<InferenceParts> = async (app, parts) => {
  const infer = createInference(app, parts)

  app.post('/v1/chat/completions', { config: { docs: CHAT } }, async (request, reply) => {
    const body = valid(ChatRequest, request.body)
    const unserved = unservedField(body)
    if (unserved !== undefined)
      throw new ShoalError('unsupported_parameter', `${unserved} is not served here`, {
        param: unserved,
      })
    await infer(request, reply, 'chat', { model: body.model, stream: body.stream === true })
  })

  app.post('/v1/embeddings', { config: { docs: EMBEDDINGS } }, async (request, reply) => {
    const body = valid(EmbeddingRequest, request.body)
    await infer(request, reply, 'embedding', { model: body.model, stream: false })
  })
}
