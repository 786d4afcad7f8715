import { AUTO_MODEL, type Catalogue, type CatalogueEntry } from '../../../shared/catalogue.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { CompletionRequest } from '../../../shared/wire/completions.ts'
import { ChatRequest, EmbeddingRequest } from '../../../shared/wire/openai.ts'
import type { Key } from '../../keys/key.ts'
import { modelsOfTier } from '../../quota/tier-models.ts'
import type { DirectRouter } from '../direct-router.ts'
import type { HttpExchange } from '../exchange.ts'
import { Inference, type InferenceParts } from '../inference.ts'
import { parseBody } from '../inference-routes.ts'
import { AnswerLines } from './answer-lines.ts'
import { parseChatBody, toChatRequest } from './chat-request.ts'
import { CHAT_DOCS, EMBED_DOCS, EMBEDDINGS_DOCS, GENERATE_DOCS } from './docs.ts'
import { OllamaEmbeddingsRequest, OllamaEmbedRequest, toEmbeddingRequest } from './embed-request.ts'
import { parseOllamaBody } from './fields.ts'
import { parseGenerateBody, toCompletion, toQuestion } from './generate-request.ts'
import { modelIdOf } from './model-names.ts'
import { TranslatedAnswer, type Translation } from './translated-answer.ts'
import { OneVector, VectorList } from './vectors.ts'

const CHAT = '/v1/chat/completions'
const COMPLETIONS = '/v1/completions'
const EMBEDDINGS = '/v1/embeddings'

interface Question {
  /** Path at which a cell answers it. */
  route: string
  kind: CatalogueEntry['kind']
  body: ChatRequest | CompletionRequest | EmbeddingRequest
  translation: Translation
  /** False where `auto` has nothing to judge. */
  auto?: boolean
}

/**
 * `POST /api/chat`, `/api/generate`, `/api/embed` and `/api/embeddings` of Ollama's API: each request
 * becomes one of OpenAI's API and takes its path; the answer is translated back.
 */
export const ollamaAnswerRoutes = (straight: DirectRouter, parts: InferenceParts): void => {
  const inference = new Inference(parts)
  const { catalogue } = parts
  const clock = () => performance.now()

  const ask = async (exchange: HttpExchange, question: Question): Promise<void> => {
    const { route, kind, body, translation, auto = true } = question
    const isStream = 'stream' in body && body.stream === true
    const response = new TranslatedAnswer({
      response: exchange.response,
      translation,
      isStream,
      memory: parts.answerMemory,
      keyId: (exchange.key as Key).id,
    })
    const rawBody = Buffer.from(JSON.stringify(body))
    const translated = { ...exchange, route, body, rawBody, response }
    // the exchange stays open for long: its own body need not stay in memory as well
    exchange.rawBody = EMPTY
    exchange.body = undefined
    const { model } = body
    await inference.infer(translated, kind, { model, stream: isStream, auto }).catch(error => {
      throw isRefusedModel(error) ? findModelFault(catalogue, model, error) : error
    })
  }

  /** Answers a request without content, with which clients load and unload models. */
  const answerEmpty = async (
    exchange: HttpExchange,
    kind: CatalogueEntry['kind'],
    id: string,
    content: object,
  ): Promise<void> => {
    const models = modelsOfTier(catalogue, (exchange.key as Key).tier)
    if (!models.some(entry => entry.id === id && entry.kind === kind))
      throw findModelFault(
        catalogue,
        id,
        new ShoalError('invalid_model', `the key may use no ${kind} model named ${id}`, {
          param: 'model',
        }),
      )
    const headers = await parts.answerHeaders(exchange)
    exchange.response.writeHead(200, {
      ...headers,
      'content-type': 'application/json; charset=utf-8',
    })
    exchange.response.end(`${JSON.stringify({ model: id, ...content })}\n`)
  }

  const createEnd = ({ keep_alive }: { keep_alive?: unknown }) => ({
    created_at: new Date(parts.now()).toISOString(),
    done: true,
    done_reason: keep_alive === 0 ? 'unload' : 'load',
  })

  straight.post('/api/chat', CHAT_DOCS, async exchange => {
    const asked = parseChatBody(exchange.body)
    const model = modelIdOf(catalogue, asked.model)
    if ((asked.messages ?? []).length === 0) {
      const message = { role: 'assistant', content: '' }
      return answerEmpty(exchange, 'chat', model, { message, ...createEnd(asked) })
    }
    const body = parseBody(ChatRequest, toChatRequest(asked, model))
    const translation = new AnswerLines({ shape: 'chat', now: parts.now, clock })
    await ask(exchange, { route: CHAT, kind: 'chat', body, translation })
  })

  straight.post('/api/generate', GENERATE_DOCS, async exchange => {
    const asked = parseGenerateBody(exchange.body)
    const model = modelIdOf(catalogue, asked.model)
    if (!asked.prompt)
      return answerEmpty(exchange, 'chat', model, { response: '', ...createEnd(asked) })
    const translation = new AnswerLines({ shape: 'generate', now: parts.now, clock })
    if (asked.raw === true) {
      const body = parseBody(CompletionRequest, toCompletion(asked, model))
      await ask(exchange, { route: COMPLETIONS, kind: 'chat', body, translation, auto: false })
    } else {
      const body = parseBody(ChatRequest, toQuestion(asked, model))
      await ask(exchange, { route: CHAT, kind: 'chat', body, translation })
    }
  })

  straight.post('/api/embed', EMBED_DOCS, async exchange => {
    const asked = parseOllamaBody(OllamaEmbedRequest, exchange.body)
    const { input, dimensions } = asked
    const model = modelIdOf(catalogue, asked.model)
    if (!input || input.length === 0)
      return answerEmpty(exchange, 'embedding', model, { embeddings: [] })
    const body = parseBody(EmbeddingRequest, toEmbeddingRequest(model, input, dimensions))
    const translation = new VectorList()
    await ask(exchange, { route: EMBEDDINGS, kind: 'embedding', body, translation })
  })

  straight.post('/api/embeddings', EMBEDDINGS_DOCS, async exchange => {
    const { prompt, ...asked } = parseOllamaBody(OllamaEmbeddingsRequest, exchange.body)
    const model = modelIdOf(catalogue, asked.model)
    if (!prompt) return answerEmpty(exchange, 'embedding', model, { embedding: [] })
    const body = parseBody(EmbeddingRequest, toEmbeddingRequest(model, prompt, undefined))
    const translation = new OneVector()
    await ask(exchange, { route: EMBEDDINGS, kind: 'embedding', body, translation })
  })
}

const isRefusedModel = (error: unknown): error is ShoalError =>
  error instanceof ShoalError && error.code === 'invalid_model'

/** Ollama answers 404 for a model that does not exist; clients then offer to pull it. */
const findModelFault = (catalogue: Catalogue, id: string, refusal: ShoalError): ShoalError =>
  id === AUTO_MODEL || catalogue.some(entry => entry.id === id)
    ? refusal
    : new ShoalError('model_not_found', `model '${id}' not found`, { param: 'model' })

const EMPTY = Buffer.alloc(0)
