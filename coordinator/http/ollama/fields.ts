import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import { firstIssue } from '../../../shared/first-issue.ts'
import { type ChatRequest, Sampling } from '../../../shared/wire/openai.ts'
import { JsonSchema } from '../../../shared/wire/openai-tools.ts'
import { optional } from '../../../shared/wire/optional.ts'

/** Options of a request that change the answer (Ollama, docs/modelfile: valid parameters). */
const OPTION_FIELDS = {
  temperature: Sampling.temperature,
  top_p: Sampling.top_p,
  /** -1 means a random one. */
  seed: optional(z.int()),
  stop: optional(z.union([z.string(), z.array(z.string().min(1)).max(4)])),
  presence_penalty: Sampling.presence_penalty,
  frequency_penalty: Sampling.frequency_penalty,
  top_k: Sampling.top_k,
  min_p: Sampling.min_p,
  repeat_penalty: Sampling.repeat_penalty,
  /** Accepted without effect: penalties count in the whole answer. */
  repeat_last_n: optional(z.int()),
  /** Tokens of the answer; 0 and less mean no limit. */
  num_predict: optional(z.int()),
}

/** Options of how a server runs a model, which the operator of a cell decides. */
const RUNNER_OPTIONS: ReadonlySet<string> = new Set([
  'num_ctx',
  'num_keep',
  'num_batch',
  'num_gpu',
  'main_gpu',
  'num_thread',
  'numa',
  'low_vram',
  'f16_kv',
  'logits_all',
  'vocab_only',
  'use_mmap',
  'use_mlock',
  'embedding_only',
])

/** Samplers that the engines lack, with the value that turns each off. */
const ABSENT_SAMPLERS: ReadonlyMap<string, number> = new Map([
  ['typical_p', 1],
  ['tfs_z', 1],
  ['mirostat', 0],
])
/** Options that have no effect while those samplers are off. */
const SAMPLER_DETAILS: ReadonlySet<string> = new Set([
  'mirostat_tau',
  'mirostat_eta',
  'penalize_newline',
])

export const Options = z.looseObject(OPTION_FIELDS)
export type Options = z.infer<typeof Options>

/** Fields that chat and generate share. */
export const ANSWER_FIELDS = {
  model: z.string().min(1).max(128),
  /** True when absent. */
  stream: optional(z.boolean()),
  /** `json`, or a JSON Schema. */
  format: optional(z.union([z.enum(['', 'json']), JsonSchema])),
  options: optional(Options),
  /** Accepted without effect: the fleet decides which models stay loaded. */
  keep_alive: optional(z.union([z.string(), z.number()])),
  logprobs: optional(z.boolean()),
  top_logprobs: optional(z.int().min(0).max(20)),
  /** A level, or true, is refused: engines do not separate thoughts from an answer. */
  think: optional(z.union([z.boolean(), z.string().max(32)])),
}

/** Pictures in base64; any is refused. */
export const Images = optional(z.array(z.unknown()))

/** Throws `unsupported_parameter` for a request to think. */
export const refuseThinking = ({
  model,
  think,
}: {
  model: string
  think?: boolean | string | null | undefined
}): void => {
  if (!think) return
  const message = `${model} cannot give its thoughts apart from its answer; send think: false, or leave it out`
  throw new ShoalError('unsupported_parameter', message, { param: 'think' })
}

/** Throws `unsupported_parameter` for pictures. */
export const refuseImages = (model: string, images: unknown, param: string): void => {
  if (isEmpty(images)) return
  const message = `${param}: ${model} cannot see pictures; send text only`
  throw new ShoalError('unsupported_parameter', message, { param })
}

/**
 * Validates a body. A field that the schema does not name is refused, unless its value asks for
 * nothing: clients send many fields with an empty value.
 */
export const parseOllamaBody = <T extends z.ZodObject>(schema: T, body: unknown): z.output<T> => {
  const parsed = schema.safeParse(body)
  if (!parsed.success) {
    const { param, message } = firstIssue(parsed.error, body)
    throw new ShoalError('invalid_request', message, param === undefined ? {} : { param })
  }
  requireKnownFields(parsed.data, schema.shape)
  return parsed.data
}

/** Throws `unsupported_parameter` for a field that is not in `known` and not empty. */
export const requireKnownFields = (value: object, known: object, path = ''): void => {
  for (const [name, content] of Object.entries(value))
    if (!Object.hasOwn(known, name) && !isEmpty(content)) throw createUnsupportedError(path + name)
}

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === false ||
  value === '' ||
  (typeof value === 'object' && Object.keys(value).length === 0)

const createUnsupportedError = (param: string, hint = ''): ShoalError =>
  new ShoalError('unsupported_parameter', `${param} is not supported${hint}`, { param })

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

/** Options that the engines have, as fields of OpenAI's API. Throws `unsupported_parameter`. */
export const samplingFields = (
  options: Options | null | undefined,
): Pick<ChatRequest, keyof typeof Sampling> => {
  if (!options) return {}
  for (const [name, value] of Object.entries(options)) requireOption(name, value)
  const { seed, stop } = options
  return {
    ...Object.fromEntries(
      SAME.map(name => [name, options[name]]).filter(([, value]) => value !== undefined),
    ),
    ...(typeof seed === 'number' && seed !== -1 && { seed }),
    ...(stop && stop.length > 0 && { stop }),
  }
}

const requireOption = (name: string, value: unknown): void => {
  if (Object.hasOwn(OPTION_FIELDS, name) || RUNNER_OPTIONS.has(name)) return
  if (SAMPLER_DETAILS.has(name) || isEmpty(value)) return
  const off = ABSENT_SAMPLERS.get(name)
  if (off === undefined) throw createUnsupportedError(`options.${name}`)
  if (value !== off)
    throw createUnsupportedError(`options.${name}`, `; leave it out, or send ${off}`)
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
