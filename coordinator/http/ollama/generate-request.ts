import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import type { CompletionRequest } from '../../../shared/wire/completions.ts'
import type { ChatRequest } from '../../../shared/wire/openai.ts'
import { optional } from '../../../shared/wire/optional.ts'
import { toChatRequest } from './chat-request.ts'
import {
  ANSWER_FIELDS,
  Images,
  parseOllamaBody,
  refuseImages,
  refuseThinking,
  samplingFields,
  tokenLimit,
} from './fields.ts'

/** Body of `POST /api/generate` (ollama/ollama, docs/api.md). */
export const OllamaGenerateRequest = z.looseObject({
  ...ANSWER_FIELDS,
  prompt: optional(z.string()),
  system: optional(z.string()),
  /** True continues the prompt as it is, without the model's template. */
  raw: optional(z.boolean()),
  images: Images,
})
export type OllamaGenerateRequest = z.infer<typeof OllamaGenerateRequest>

export const parseGenerateBody = (body: unknown): OllamaGenerateRequest => {
  const parsed = parseOllamaBody(OllamaGenerateRequest, body)
  refuseThinking(parsed)
  refuseImages(parsed.model, parsed.images, 'images')
  return parsed
}

/** A prompt as a conversation of one question. */
export const toQuestion = (body: OllamaGenerateRequest, model: string): ChatRequest => {
  const { prompt, system, raw: _, ...rest } = body
  const messages = [
    ...(system ? [{ role: 'system' as const, content: system }] : []),
    { role: 'user' as const, content: prompt ?? '' },
  ]
  return toChatRequest({ ...rest, messages }, model)
}

/** More than any model writes: the tier and the context are the limit. */
const NO_LIMIT = 2 ** 31 - 1

/** A prompt that is continued as it is. */
export const toCompletion = (body: OllamaGenerateRequest, model: string): CompletionRequest => {
  const { prompt, options } = body
  for (const param of ['system', 'format', 'logprobs'] as const)
    if (body[param])
      throw new ShoalError('unsupported_parameter', `${param} is not supported with raw`, { param })
  const stream = body.stream !== false
  return {
    model,
    prompt: prompt ?? '',
    stream,
    ...(stream && { stream_options: { include_usage: true } }),
    max_tokens: tokenLimit(options) ?? NO_LIMIT,
    ...samplingFields(options),
  }
}
