import { ChatRequest } from './openai.ts'
import type { Problem, RequestRules } from './read-request.ts'
import { findTooManyBiases, nameSamplers } from './sampling-rules.ts'

/** Neutral values of unsupported fields; any other value is `unsupported_parameter`. */
const neutral = {
  functions: value => Array.isArray(value) && value.length === 0,
  function_call: value => value === 'none' || value === 'auto',
  modalities: value => Array.isArray(value) && value.every(item => item === 'text'),
  audio: () => false,
  reasoning_effort: value => value === 'none',
  verbosity: value => value === 'medium',
  moderation: () => false,
} satisfies Partial<Record<keyof ChatRequest, (value: unknown) => boolean>>

const NEUTRAL = Object.entries(neutral) as [keyof typeof neutral, (value: unknown) => boolean][]

const findUnsupported = (request: ChatRequest): Problem | undefined => {
  const found = NEUTRAL.find(([name, isNeutral]) => {
    const value = request[name]
    return value !== undefined && value !== null && !isNeutral(value)
  })
  return found && { param: found[0], message: `${found[0]} is not supported` }
}

const findContradiction = (request: ChatRequest): Problem | undefined => {
  if (request.stream_options && request.stream !== true)
    return { param: 'stream_options', message: 'stream_options needs stream: true' }
  if (typeof request.top_logprobs === 'number' && request.logprobs !== true)
    return { param: 'top_logprobs', message: 'top_logprobs needs logprobs: true' }
  const deep = (['tools', 'response_format', 'guided_json'] as const).find(name =>
    isDeeper(request[name], MAX_DEPTH),
  )
  if (deep) return { param: deep, message: `${deep} is nested deeper than ${MAX_DEPTH} levels` }
  return findTooManyBiases(request)
}

/** Deepest nesting accepted; more would exhaust the stack of recursive functions. */
const MAX_DEPTH = 100

const isDeeper = (value: unknown, depth: number): boolean => {
  if (typeof value !== 'object' || value === null) return false
  return depth === 0 || Object.values(value).some(inner => isDeeper(inner, depth - 1))
}

const nameFormat = (request: ChatRequest): ChatRequest => {
  const { guided_json: schema, ...rest } = request
  if (!schema) return request
  const json_schema = { name: 'guided_json', schema, strict: true }
  return { ...rest, response_format: { type: 'json_schema', json_schema } }
}

export const CHAT_RULES: RequestRules<ChatRequest> = {
  schema: ChatRequest,
  hasTools: true,
  findUnsupported,
  findContradiction,
  simplify: request => nameFormat(nameSamplers(request)),
}
