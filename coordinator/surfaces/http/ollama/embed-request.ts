import * as z from 'zod'
import type { EmbeddingRequest } from '../../../../shared/wire/openai.ts'
import { optional } from '../../../../shared/wire/optional.ts'
import { ANSWER_FIELDS } from './fields.ts'

const { model, options, keep_alive } = ANSWER_FIELDS
const MAX_INPUTS = 2048

/** Body of `POST /api/embed` (ollama/ollama, docs/api.md). */
export const OllamaEmbedRequest = z.object({
  model,
  input: optional(z.union([z.string(), z.array(z.string().min(1)).max(MAX_INPUTS)])),
  /** Accepted value: a text that is too long is refused, never cut. */
  truncate: optional(z.boolean()),
  dimensions: optional(z.int().min(0)),
  options,
  keep_alive,
})

/** Body of the older `POST /api/embeddings`. */
export const OllamaEmbeddingsRequest = z.object({
  model,
  prompt: optional(z.string()),
  options,
  keep_alive,
})

export const toEmbeddingRequest = (
  id: string,
  input: string | string[],
  dimensions: number | null | undefined,
): EmbeddingRequest => ({
  model: id,
  input,
  encoding_format: 'base64',
  ...(dimensions && { dimensions }),
})
