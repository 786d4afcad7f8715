import type { Attributes } from '@opentelemetry/api'
import { ShoalError } from '../../../shared/errors.ts'
import {
  ATTRIBUTE_CELL_ID,
  CACHED_TOKENS,
  type GenAiOperation,
  INPUT_TOKENS,
  OUTCOME,
  OUTPUT_TOKENS,
  REQUEST_ID,
  RESPONSE_MODEL,
  SERVER_ADDRESS,
  SERVER_PORT,
} from '../../../shared/tracing/gen-ai.ts'
import { type InferenceSpan, startInferenceSpan } from '../../../shared/tracing/inference-span.ts'
import type { DispatchOutcome } from '../../gateway/dispatch/dispatch-request.ts'
import type { HttpExchange } from './exchange.ts'

const OPERATIONS: Record<string, GenAiOperation> = {
  '/v1/embeddings': 'embeddings',
  '/v1/completions': 'text_completion',
  '/v1/rerank': 'rerank',
}

/** The span of a request that a model of its tier is to answer. */
export const traceInference = (
  { id, route, body, headers }: HttpExchange,
  model: string,
): InferenceSpan =>
  startInferenceSpan({
    operation: OPERATIONS[route] ?? 'chat',
    model,
    body,
    headers,
    attributes: () => ({ [REQUEST_ID]: id, ...serverOf(headers.host ?? '') }),
  })

/** The address and port a client has used, as attributes. */
const serverOf = (host: string): Attributes => {
  const [, address = host, port] = /^(.*?)(?::(\d+))?$/.exec(host) ?? []
  return { [SERVER_ADDRESS]: address, ...(port !== undefined && { [SERVER_PORT]: Number(port) }) }
}

/** Ends the span of a request; one that no cell served completely has failed. */
export const endTrace = (span: InferenceSpan, model: string, outcome: DispatchOutcome): void => {
  if (!span.isTraced) return
  const { status, cellId, usage, httpStatus } = outcome
  const isError = status === 'failed' || (status === 'refused' && (httpStatus ?? 0) >= 500)
  const why = `the request ${status === 'failed' ? 'failed on its cell' : 'found no cell'}`
  span.end(
    {
      [OUTCOME]: status,
      ...(cellId !== undefined && { [ATTRIBUTE_CELL_ID]: cellId }),
      ...(usage !== undefined && {
        [RESPONSE_MODEL]: model,
        [INPUT_TOKENS]: usage.prompt_tokens,
        [OUTPUT_TOKENS]: usage.completion_tokens,
        [CACHED_TOKENS]: usage.prompt_tokens_details?.cached_tokens ?? 0,
      }),
    },
    isError ? new ShoalError('cell_unavailable', why) : undefined,
  )
}
