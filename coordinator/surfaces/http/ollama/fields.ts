import * as z from 'zod'
import { type ChatRequest, MAX_STOPS, Sampling } from '../../../../shared/wire/openai.ts'
import { JsonSchema } from '../../../../shared/wire/openai-tools.ts'
import { optional } from '../../../../shared/wire/optional.ts'
import type { Problem } from '../../../../shared/wire/read-request.ts'

/** Options of a request that change the answer (Ollama, docs/modelfile: valid parameters). */
const OPTION_FIELDS = {
  temperature: Sampling.temperature,
  top_p: Sampling.top_p,
  /** -1 means a random one. */
  seed: optional(z.int()),
  stop: optional(z.union([z.string(), z.array(z.string().min(1)).max(MAX_STOPS)])),
  presence_penalty: Sampling.presence_penalty,
  frequency_penalty: Sampling.frequency_penalty,
  top_k: Sampling.top_k,
  min_p: Sampling.min_p,
  repeat_penalty: Sampling.repeat_penalty,
  /** Option without effect: penalties count in the whole answer. */
  repeat_last_n: optional(z.int()),
  /** Tokens of the answer; 0 and less mean no limit. */
  num_predict: optional(z.int()),
}

/** Any other option is ignored: a server's, which the operator decides, or an absent sampler. */
const Options = z.object(OPTION_FIELDS)
type Options = z.infer<typeof Options>

/** Fields that chat and generate share. */
export const ANSWER_FIELDS = {
  model: z.string().min(1).max(128),
  /** True when absent. */
  stream: optional(z.boolean()),
  /** `json`, or a JSON Schema. */
  format: optional(z.union([z.enum(['', 'json']), JsonSchema])),
  options: optional(Options),
  /** Option without effect: the fleet decides which models stay loaded. */
  keep_alive: optional(z.union([z.string(), z.number()])),
  logprobs: optional(z.boolean()),
  top_logprobs: optional(z.int().min(0).max(20)),
  /** A level, or true, is refused: engines do not separate thoughts from an answer. */
  think: optional(z.union([z.boolean(), z.string().max(32)])),
}

/** Pictures in base64; any is refused. */
export const Images = optional(z.array(z.unknown()))

/** Rule that refuses a request for reasoning. */
export const findThinking = ({
  model,
  think,
}: {
  model: string
  think?: boolean | string | null | undefined
}): Problem | undefined =>
  think
    ? {
        param: 'think',
        message: `${model} cannot separate its reasoning from its answer; send think: false, or leave it out`,
      }
    : undefined

/** Rule that refuses images. */
export const findImages = (
  model: string,
  images: readonly unknown[] | null | undefined,
  param: string,
): Problem | undefined =>
  images && images.length > 0
    ? { param, message: `${param}: ${model} does not accept images; send text only` }
    : undefined

/** Options with the same name and meaning in both APIs. */
const SAME = [
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'repeat_penalty',
  'presence_penalty',
  'frequency_penalty',
] as const

/** Options that the engines have, as fields of OpenAI's API. */
export const samplingFields = (
  options: Options | null | undefined,
): Pick<ChatRequest, keyof typeof Sampling> => {
  if (!options) return {}
  const { seed, stop } = options
  return {
    ...Object.fromEntries(
      SAME.map(name => [name, options[name]]).filter(([, value]) => value !== undefined),
    ),
    ...(typeof seed === 'number' && seed !== -1 && { seed }),
    ...(stop && stop.length > 0 && { stop }),
  }
}

/** Most tokens of the answer; undefined without a limit. */
export const tokenLimit = (options: Options | null | undefined): number | undefined => {
  const limit = options?.num_predict ?? 0
  return limit > 0 ? limit : undefined
}

export const responseFormat = (
  format: z.infer<typeof ANSWER_FIELDS.format> | undefined,
): Pick<ChatRequest, 'response_format'> => {
  if (!format) return {}
  if (format === 'json') return { response_format: { type: 'json_object' } }
  const json_schema = { name: 'answer', schema: format as JsonSchema, strict: true }
  return { response_format: { type: 'json_schema', json_schema } }
}
