import { once } from 'node:events'
import { ShoalError } from '../../../shared/errors.ts'
import {
  EMBEDDING_RULES,
  type EmbeddingAnswer,
  type EmbeddingRequest,
} from '../../../shared/wire/openai.ts'
import type { RouteContext } from './context.ts'
import {
  announceUsage,
  endWithUsage,
  type HttpRequest,
  type HttpResponse,
  readBodyOf,
  runOnAbort,
  sendError,
} from './http.ts'
import { findModel } from './models.ts'
import { traceDoor } from './trace-job.ts'

/** `POST /v1/embeddings`. @throws ShoalError before anything is sent */
export const embeddings = async (
  request: HttpRequest,
  response: HttpResponse,
  gone: AbortSignal,
  context: RouteContext,
): Promise<void> => {
  const body = await readBodyOf(EMBEDDING_RULES, request, response)
  const { entry, engine } = findModel(context.engines, body.model, 'embedding')
  const inputs = inputsOf(body)
  const traced = traceDoor(engine, { operation: 'embeddings', body, request, gone })
  const cancel = traced.submit(
    { type: 'embed', inputs, contextLength: entry.context_length },
    inputs.reduce((sum, input) => sum + input.length, 0),
    event => {
      if (event.type === 'error') sendError(response, event.error)
      else if (event.type === 'vectors') void send(response, gone, body, event)
    },
  )
  runOnAbort(gone, cancel)
}

/** One text, texts, the tokens of one, or lists of tokens. */
const inputsOf = ({ input }: EmbeddingRequest): (string | number[])[] => {
  if (typeof input === 'string') return [input]
  return typeof input[0] === 'number' ? [input as number[]] : (input as (string | number[])[])
}

const send = async (
  response: HttpResponse,
  gone: AbortSignal,
  body: EmbeddingRequest,
  { vectors, promptTokens }: { vectors: readonly Float32Array[]; promptTokens: number },
): Promise<void> => {
  const length = vectors[0]?.length ?? 0
  if (typeof body.dimensions === 'number' && body.dimensions !== length) {
    const message = `${body.model} returns ${length} dimensions, not ${body.dimensions}`
    sendError(response, new ShoalError('unsupported_parameter', message, { param: 'dimensions' }))
    return
  }
  response.setHeader('content-type', 'application/json')
  announceUsage(response)
  for (const piece of answerPieces(body, vectors, promptTokens)) {
    if (gone.aborted) return
    if (!response.write(piece)) await waitForDrain(response, gone)
  }
  endWithUsage(response, {
    prompt_tokens: promptTokens,
    completion_tokens: 0,
    total_tokens: promptTokens,
  })
}

/** An `EmbeddingAnswer`, one vector at a time: thousands of them must not hold up other answers. */
const answerPieces = function* (
  { model, encoding_format }: EmbeddingRequest,
  vectors: readonly Float32Array[],
  promptTokens: number,
): Generator<string> {
  const encode = encoding_format === 'base64' ? base64 : numbers
  const usage = { prompt_tokens: promptTokens, total_tokens: promptTokens }
  const head = JSON.stringify({ object: 'list', model, usage } satisfies Omit<
    EmbeddingAnswer,
    'data'
  >)
  yield `${head.slice(0, -1)},"data":[`
  for (const [index, vector] of vectors.entries()) {
    const item: EmbeddingAnswer['data'][0] = {
      object: 'embedding',
      index,
      embedding: encode(vector),
    }
    yield `${index === 0 ? '' : ','}${JSON.stringify(item)}`
  }
  yield ']}'
}

/** Resolves when the response has drained or its reader is gone. */
const waitForDrain = (response: HttpResponse, gone: AbortSignal): Promise<unknown> =>
  once(response, 'drain', { signal: gone }).catch(() => {})

const numbers = (vector: Float32Array): number[] => [...vector]

/** Little-endian 32-bit floats, on any machine. */
const base64 = (vector: Float32Array): string => {
  const bytes = Buffer.alloc(vector.length * 4)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * 4)
  return bytes.toString('base64')
}
