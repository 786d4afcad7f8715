import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import type { CompletionRequest } from '../../../../shared/wire/completions.ts'
import type { ChatRequest } from '../../../../shared/wire/openai.ts'
import { optional } from '../../../../shared/wire/optional.ts'
import type { Problem, RequestRules } from '../../../../shared/wire/read-request.ts'
import { toChatRequest } from './chat-request.ts'
import {
  ANSWER_FIELDS,
  findImages,
  findThinking,
  Images,
  samplingFields,
  tokenLimit,
} from './fields.ts'

/** Body of `POST /api/generate` (ollama/ollama, docs/api.md). */
export const OllamaGenerateRequest = z.object({
  ...ANSWER_FIELDS,
  prompt: optional(z.string()),
  system: optional(z.string()),
  /** True continues the prompt as it is, without the model's template. */
  raw: optional(z.boolean()),
  images: Images,
  /** Tokens of earlier answers. */
  context: optional(z.array(z.unknown())),
  /** Text after the answer. */
  suffix: optional(z.string()),
  template: optional(z.string()),
})
export type OllamaGenerateRequest = z.infer<typeof OllamaGenerateRequest>

/** Features that no model here has; most clients send them empty. */
const ABSENT = ['context', 'suffix', 'template'] as const

const findUnsupported = (request: OllamaGenerateRequest): Problem | undefined => {
  const absent = ABSENT.find(name => (request[name]?.length ?? 0) > 0)
  return absent === undefined
    ? (findThinking(request) ?? findImages(request.model, request.images, 'images'))
    : { param: absent, message: `${absent} is not supported` }
}

export const OLLAMA_GENERATE_RULES: RequestRules<OllamaGenerateRequest> = {
  schema: OllamaGenerateRequest,
  findUnsupported,
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
