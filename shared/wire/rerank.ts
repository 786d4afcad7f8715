import * as z from 'zod'
import { optional } from './optional.ts'
import type { RequestRules } from './read-request.ts'

/**
 * Request and answer of `POST /v1/rerank`, in the shape that Jina (api.jina.ai/v1/rerank) and Cohere
 * (docs.cohere.com, v1/rerank) have in common.
 */
const MAX_DOCUMENTS = 1000

const Text = z.string().min(1)

export const RerankRequest = z.object({
  model: z.string().min(1).max(128),
  query: Text,
  documents: z
    .array(
      z.union([Text, z.object({ text: Text })], {
        error: 'must be a non-empty string, or an object with a non-empty `text`',
      }),
    )
    .min(1)
    .max(MAX_DOCUMENTS),
  /** Number of results; all documents when absent. */
  top_n: optional(z.int().min(1)),
  /** Repeats the text of each document in its result. */
  return_documents: optional(z.boolean()),
  user: optional(z.string().max(512)),
})
export type RerankRequest = z.infer<typeof RerankRequest>

export const RERANK_RULES: RequestRules<RerankRequest> = { schema: RerankRequest }

/**
 * Request of `POST /v2/rerank` in the shape of Cohere (docs.cohere.com, v2/rerank): one of
 * `/v1/rerank`, with fewer fields. Its `max_tokens_per_doc` is ignored, as documents are never cut.
 */
export const RerankRequestV2 = RerankRequest.pick({
  model: true,
  query: true,
  top_n: true,
}).extend({ documents: z.array(Text).min(1).max(MAX_DOCUMENTS) })

export const RERANK_RULES_V2: RequestRules<z.infer<typeof RerankRequestV2>> = {
  schema: RerankRequestV2,
}

export const RerankAnswer = z.object({
  id: z.string().describe('`rerank-…`'),
  object: z.literal('list'),
  model: z.string(),
  results: z
    .array(
      z.object({
        index: z.int().nonnegative().describe('Place of the document in the request, from 0.'),
        relevance_score: z.number().describe('From 0 to 1.'),
        document: z
          .object({ text: z.string() })
          .exactOptional()
          .describe('Only with `return_documents`.'),
      }),
    )
    .describe('The most relevant first.'),
  usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
  meta: z
    .object({ tokens: z.object({ input_tokens: z.int() }) })
    .exactOptional()
    .describe("Cohere's form of `usage`; absent from a cell with an older daemon."),
})
export type RerankAnswer = z.infer<typeof RerankAnswer>

/** Text of a document of a request. */
export const documentText = (document: RerankRequest['documents'][0]): string =>
  typeof document === 'string' ? document : document.text
