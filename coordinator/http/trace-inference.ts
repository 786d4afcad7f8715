import type { FastifyRequest } from 'fastify'
import type { CatalogueEntry } from '../../shared/catalogue.ts'
import { ShoalError } from '../../shared/errors.ts'
import {
  CACHED_TOKENS,
  CELL_ID,
  type GenAiOperation,
  INPUT_TOKENS,
  OUTCOME,
  OUTPUT_TOKENS,
  REQUEST_ID,
  RESPONSE_MODEL,
  SERVER_ADDRESS,
  SERVER_PORT,
} from '../../shared/tracing/gen-ai.ts'
import { type InferenceSpan, startInferenceSpan } from '../../shared/tracing/inference-span.ts'
import type { Outcome } from '../fleet/dispatch.ts'

const OPERATIONS: Record<string, GenAiOperation> = {
  '/v1/embeddings': 'embeddings',
  '/v1/completions': 'text_completion',
}

/** The span of a request that a model of its tier is to answer. */
export const traceInference = (
  request: FastifyRequest,
  { id: model }: Pick<CatalogueEntry, 'id'>,
): InferenceSpan =>
  startInferenceSpan({
    operation: OPERATIONS[request.routeOptions.url ?? ''] ?? 'chat',
    model,
    body: request.body,
    headers: request.headers,
    attributes: () => ({
      [REQUEST_ID]: request.id,
      [SERVER_ADDRESS]: request.hostname,
      ...(request.port === null ? {} : { [SERVER_PORT]: request.port }),
    }),
  })

/** What became of it; a request that no cell served, or only in part, has failed. */
export const endTrace = (span: InferenceSpan, model: string, outcome: Outcome): void => {
  if (!span.isTraced) return
  const { status, cellId, usage, httpStatus } = outcome
  const isError = status === 'failed' || (status === 'refused' && (httpStatus ?? 0) >= 500)
  const why = `the request ${status === 'failed' ? 'failed on its cell' : 'found no cell'}`
  span.end(
    {
      [OUTCOME]: status,
      ...(cellId !== undefined && { [CELL_ID]: cellId }),
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
