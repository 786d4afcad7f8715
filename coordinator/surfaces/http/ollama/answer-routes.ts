import { AUTO_MODEL, type Catalogue, type CatalogueEntry } from '../../../../shared/catalogue.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { CHAT_RULES } from '../../../../shared/wire/chat-rules.ts'
import { COMPLETION_RULES, type CompletionRequest } from '../../../../shared/wire/completions.ts'
import {
  type ChatRequest,
  EMBEDDING_RULES,
  type EmbeddingRequest,
} from '../../../../shared/wire/openai.ts'
import { readRequest } from '../../../../shared/wire/read-request.ts'
import { modelsOfTier } from '../../../access/quota/tier-models.ts'
import type { Key } from '../../../kernel/declaration/key.ts'
import type { DirectRouter } from '../direct-router.ts'
import type { HttpExchange } from '../exchange.ts'
import { Inference, type InferenceParts } from '../inference.ts'
import { nameIgnored, takeBody } from '../take-body.ts'
import { TranslatedAnswer, type Translation } from '../translated-answer.ts'
import { AnswerLines } from './answer-lines.ts'
import { OLLAMA_CHAT_RULES, toChatRequest } from './chat-request.ts'
import { CHAT_DOCS, EMBED_DOCS, EMBEDDINGS_DOCS, GENERATE_DOCS } from './docs.ts'
import { OllamaEmbeddingsRequest, OllamaEmbedRequest, toEmbeddingRequest } from './embed-request.ts'
import { OLLAMA_GENERATE_RULES, toCompletion, toQuestion } from './generate-request.ts'
import { modelIdOf } from './model-names.ts'
import { OLLAMA_FORM } from './ollama-error.ts'
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
  const clock = parts.runtime.nowMs

  const ask = async (exchange: HttpExchange, question: Question): Promise<void> => {
    const { route, kind, body, translation, auto = true } = question
    const isStream = 'stream' in body && body.stream === true
    const response = new TranslatedAnswer({
      response: exchange.response,
      translation,
      form: OLLAMA_FORM,
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
    const headers = nameIgnored(await parts.answerHeaders(exchange), exchange.ignored)
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
    const asked = takeBody(exchange, OLLAMA_CHAT_RULES)
    const model = modelIdOf(catalogue, asked.model)
    if ((asked.messages ?? []).length === 0) {
      const message = { role: 'assistant', content: '' }
      return answerEmpty(exchange, 'chat', model, { message, ...createEnd(asked) })
    }
    const body = readRequest(CHAT_RULES, toChatRequest(asked, model)).request
    const translation = new AnswerLines({ shape: 'chat', now: parts.now, clock })
    await ask(exchange, { route: CHAT, kind: 'chat', body, translation })
  })

  straight.post('/api/generate', GENERATE_DOCS, async exchange => {
    const asked = takeBody(exchange, OLLAMA_GENERATE_RULES)
    const model = modelIdOf(catalogue, asked.model)
    if (!asked.prompt)
      return answerEmpty(exchange, 'chat', model, { response: '', ...createEnd(asked) })
    const translation = new AnswerLines({ shape: 'generate', now: parts.now, clock })
    if (asked.raw === true) {
      const body = readRequest(COMPLETION_RULES, toCompletion(asked, model)).request
      await ask(exchange, { route: COMPLETIONS, kind: 'chat', body, translation, auto: false })
    } else {
      const body = readRequest(CHAT_RULES, toQuestion(asked, model)).request
      await ask(exchange, { route: CHAT, kind: 'chat', body, translation })
    }
  })

  straight.post('/api/embed', EMBED_DOCS, async exchange => {
    const asked = takeBody(exchange, { schema: OllamaEmbedRequest })
    const { input, dimensions } = asked
    const model = modelIdOf(catalogue, asked.model)
    if (!input || input.length === 0)
      return answerEmpty(exchange, 'embedding', model, { embeddings: [] })
    const { request: body } = readRequest(
      EMBEDDING_RULES,
      toEmbeddingRequest(model, input, dimensions),
    )
    const translation = new VectorList(clock)
    await ask(exchange, { route: EMBEDDINGS, kind: 'embedding', body, translation })
  })

  straight.post('/api/embeddings', EMBEDDINGS_DOCS, async exchange => {
    const { prompt, ...asked } = takeBody(exchange, { schema: OllamaEmbeddingsRequest })
    const model = modelIdOf(catalogue, asked.model)
    if (!prompt) return answerEmpty(exchange, 'embedding', model, { embedding: [] })
    const { request: body } = readRequest(
      EMBEDDING_RULES,
      toEmbeddingRequest(model, prompt, undefined),
    )
    const translation = new OneVector()
    await ask(exchange, { route: EMBEDDINGS, kind: 'embedding', body, translation })
  })
}

const isRefusedModel = (error: unknown): error is ShoalError =>
  error instanceof ShoalError &&
  (error.code === 'invalid_model' || error.code === 'model_not_found')

/** Ollama answers 404 for a model that does not exist; clients then offer to pull it. */
const findModelFault = (catalogue: Catalogue, id: string, refusal: ShoalError): ShoalError =>
  id === AUTO_MODEL || catalogue.some(entry => entry.id === id)
    ? refusal
    : new ShoalError('model_not_found', `model '${id}' not found`, { param: 'model' })

const EMPTY = Buffer.alloc(0)
