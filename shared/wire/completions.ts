import * as z from 'zod'
import { FinishReason, Sampling, Usage } from './openai.ts'
import { optional } from './optional.ts'
import type { Problem, RequestRules } from './read-request.ts'
import { findTooManyBiases, nameSamplers } from './sampling-rules.ts'

/**
 * Legacy completions of the OpenAI REST API (openai/openai-openapi: CreateCompletionRequest,
 * CreateCompletionResponse): a prompt is continued as it is, without the model's chat template.
 */
const MAX_PROMPTS = 128
const MAX_TOKEN_IDS = 131_072

const Tokens = z.array(z.int().min(0)).min(1).max(MAX_TOKEN_IDS)

export const CompletionRequest = z.object({
  model: z.string().min(1).max(128),
  /** A string, strings, a list of token ids, or lists of them. */
  prompt: z.union(
    [
      z.string(),
      z.array(z.string()).min(1).max(MAX_PROMPTS),
      Tokens,
      z.array(Tokens).min(1).max(MAX_PROMPTS),
    ],
    { error: 'prompt must be a string, or an array of strings or token ids' },
  ),
  stream: optional(z.boolean()),
  stream_options: optional(
    z.object({
      include_usage: z.boolean().exactOptional(),
      include_obfuscation: z.boolean().exactOptional(),
    }),
  ),
  /** Default 16. */
  max_tokens: optional(z.int().min(0)),
  /** Choices per prompt. */
  n: optional(z.int().min(1).max(16)),
  /** Choices to generate, of which the `n` most probable are returned. */
  best_of: optional(z.int().min(1).max(16)),
  /** Prefixes the answer with the prompt. */
  echo: optional(z.boolean()),
  /** Most probable tokens to report at each position, besides the chosen one. */
  logprobs: optional(z.int().min(0).max(5)),
  suffix: optional(z.string()),
  ...Sampling,
  user: optional(z.string().max(512)),
})
export type CompletionRequest = z.infer<typeof CompletionRequest>

/** Most choices of one request, over all its prompts. */
const MAX_COMPLETIONS = 128

/** First unsupported parameter of a valid request, and the reason. */
const findUnsupported = (request: CompletionRequest): Problem | undefined => {
  const { suffix, n, best_of: bestOf, stream } = request
  const made = bestOf ?? n ?? 1
  if (suffix) return { param: 'suffix', message: 'suffix is not supported: no model inserts text' }
  if (made > 1 && stream && made > (n ?? 1))
    return { param: 'best_of', message: 'best_of above n is not supported in a stream' }
  return undefined
}

/** First contradiction between parameters of a request. */
const findContradiction = (request: CompletionRequest): Problem | undefined => {
  const { n, best_of: bestOf, stream, stream_options: streamOptions } = request
  if (streamOptions && stream !== true)
    return { param: 'stream_options', message: 'stream_options needs stream: true' }
  if (typeof bestOf === 'number' && bestOf < (n ?? 1))
    return { param: 'best_of', message: 'best_of must not be less than n' }
  if (promptsOf(request).length * (bestOf ?? n ?? 1) > MAX_COMPLETIONS)
    return { param: 'prompt', message: `more than ${MAX_COMPLETIONS} choices in one request` }
  return findTooManyBiases(request)
}

export const COMPLETION_RULES: RequestRules<CompletionRequest> = {
  schema: CompletionRequest,
  findUnsupported,
  findContradiction,
  simplify: nameSamplers,
}

/** Splits the request into its single prompts. */
export const promptsOf = ({ prompt }: CompletionRequest): (string | number[])[] => {
  if (typeof prompt === 'string') return [prompt]
  return typeof prompt[0] === 'number' ? [prompt as number[]] : (prompt as (string | number[])[])
}

export const CompletionLogprobs = z.object({
  tokens: z.array(z.string()),
  token_logprobs: z
    .array(z.number().nullable())
    .describe('Null for the first token of a prompt that `echo` puts before the answer.'),
  top_logprobs: z.array(z.record(z.string(), z.number()).nullable()).nullable(),
  text_offset: z.array(z.int()).describe('Offset of each token in `text`, in characters.'),
})
export type CompletionLogprobs = z.infer<typeof CompletionLogprobs>

const choice = <T extends z.ZodType>(finish: T) =>
  z.object({
    index: z.int(),
    text: z.string(),
    logprobs: CompletionLogprobs.nullable(),
    finish_reason: finish,
  })

export const Completion = z.object({
  id: z.string().describe('`cmpl-…`'),
  object: z.literal('text_completion'),
  created: z.int().describe('Unix time, seconds.'),
  model: z.string(),
  choices: z.array(choice(FinishReason)),
  usage: Usage,
})
export type Completion = z.infer<typeof Completion>

export const CompletionChunk = z.object({
  id: z.string(),
  object: z.literal('text_completion'),
  created: z.int(),
  model: z.string(),
  choices: z.array(choice(FinishReason.nullable())),
  usage: Usage.nullable()
    .exactOptional()
    .describe('Only with `include_usage`: null on every chunk but the last, which has no choices.'),
})
export type CompletionChunk = z.infer<typeof CompletionChunk>
