import type { Attributes } from '@opentelemetry/api'

/**
 * Attributes of OpenTelemetry's semantic conventions for generative AI
 * (opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans). The conventions are experimental, so
 * that all names used are in this file.
 */
export const OPERATION = 'gen_ai.operation.name'
export const PROVIDER = 'gen_ai.provider.name'
export const REQUEST_MODEL = 'gen_ai.request.model'
export const RESPONSE_MODEL = 'gen_ai.response.model'
export const FINISH_REASONS = 'gen_ai.response.finish_reasons'
export const INPUT_TOKENS = 'gen_ai.usage.input_tokens'
export const OUTPUT_TOKENS = 'gen_ai.usage.output_tokens'
export const CACHED_TOKENS = 'gen_ai.usage.cache_read.input_tokens'
export const SERVER_ADDRESS = 'server.address'
export const SERVER_PORT = 'server.port'
export const ERROR_TYPE = 'error.type'
export const REQUEST_ID = 'shoal.request.id'
export const ATTRIBUTE_CELL_ID = 'shoal.cell.id'
export const OUTCOME = 'shoal.outcome'

/** `rerank` is ours: the conventions have no operation for it. */
export type GenAiOperation = 'chat' | 'embeddings' | 'text_completion' | 'rerank'

/** Attribute names by request field. Contents are never recorded. */
const NUMBERS: Record<string, string> = {
  max_tokens: 'gen_ai.request.max_tokens',
  max_completion_tokens: 'gen_ai.request.max_tokens',
  temperature: 'gen_ai.request.temperature',
  top_p: 'gen_ai.request.top_p',
  frequency_penalty: 'gen_ai.request.frequency_penalty',
  presence_penalty: 'gen_ai.request.presence_penalty',
  seed: 'gen_ai.request.seed',
}

/** Attributes of a request's parameters, without its contents. */
export const requestAttributes = (body: object): Attributes => {
  const found: Attributes = {}
  for (const [field, value] of Object.entries(body)) {
    const name = Object.hasOwn(NUMBERS, field) ? NUMBERS[field] : undefined
    if (name !== undefined && typeof value === 'number') found[name] = value
  }
  return found
}
