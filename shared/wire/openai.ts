import * as z from 'zod'
import { ResponseFormat } from './openai-format.ts'
import { ChoiceLogprobs } from './openai-logprobs.ts'
import {
  FunctionTool,
  JsonSchema,
  MAX_TOOLS,
  SentToolCall,
  ToolCall,
  ToolCallDelta,
  ToolChoice,
} from './openai-tools.ts'
import { optional } from './optional.ts'
import { PROMPT_CACHE } from './prompt-cache.ts'
import type { RequestRules } from './read-request.ts'

/**
 * Request and answer shapes of the OpenAI REST API as far as shoal supports them
 * (openai/openai-openapi: CreateChatCompletionRequest, CreateEmbeddingRequest and their answers),
 * and `system` of our own interface. A field that a request has and no schema names is ignored:
 * `readRequest`.
 */
/** Bounds prevent a hostile body from being checked element by element. */
const MAX_PARTS = 4096
const MAX_TOKEN_IDS = 131_072

const TextPart = z.object({ type: z.literal('text'), text: z.string() })

const Content = z.union([z.string(), z.array(TextPart).min(1).max(MAX_PARTS)], {
  error: 'must be a string or an array of text parts',
})

export const ChatMessage = z.discriminatedUnion('role', [
  z.object({
    role: z.enum(['system', 'developer']),
    content: Content,
    name: z.string().exactOptional(),
  }),
  z.object({ role: z.literal('user'), content: Content, name: z.string().exactOptional() }),
  z.object({
    role: z.literal('assistant'),
    content: Content.nullable().exactOptional(),
    name: z.string().nullable().exactOptional(),
    refusal: z.null().exactOptional(),
    // clients send back an answer as their library stored it, including fields it did not have
    audio: z.null().exactOptional(),
    function_call: z.null().exactOptional(),
    tool_calls: z.array(SentToolCall).max(MAX_TOOLS).nullable().exactOptional(),
    annotations: z.array(z.unknown()).nullable().exactOptional(),
    // OpenAI's client stores the parsed value beside the text and sends it back too
    parsed: z.unknown().exactOptional(),
  }),
  z.object({
    role: z.literal('tool'),
    content: Content,
    tool_call_id: z.string().min(1).max(128),
    name: z.string().nullable().exactOptional(),
  }),
])
export type ChatMessage = z.infer<typeof ChatMessage>

/** OpenAI takes four; editors send more. */
export const MAX_STOPS = 16

/** Sampling parameters that every engine must honour exactly. */
export const Sampling = {
  /** Default 1; 0 is greedy. */
  temperature: optional(z.number().min(0).max(2)),
  /** Default 1: no nucleus; 0 keeps only the likeliest token. */
  top_p: optional(z.number().min(0).max(1)),
  /** Any 64-bit integer; JavaScript keeps its first 16 digits. */
  seed: optional(
    z
      .number()
      .min(-(2 ** 63))
      .max(2 ** 63)
      .refine(Number.isInteger, { error: 'must be an integer' }),
  ),
  stop: optional(z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(MAX_STOPS)])),
  frequency_penalty: optional(z.number().min(-2).max(2)),
  presence_penalty: optional(z.number().min(-2).max(2)),
  /** Keeps the k likeliest tokens; not OpenAI's. 0 keeps all, and so does vLLM's -1. */
  top_k: optional(z.int().min(-1).max(1_000_000)),
  /** Keeps tokens of at least this share of the likeliest one's probability; not OpenAI's. */
  min_p: optional(z.number().min(0).max(1)),
  /** Divides the logits of tokens that the answer has already; not OpenAI's. 1 changes nothing. */
  repeat_penalty: optional(z.number().positive().max(10)),
  /** vLLM's name of `repeat_penalty`. */
  repetition_penalty: optional(z.number().positive().max(10)),
  /** Maps a token id (decimal string) to a bias from -100 to 100. */
  logit_bias: optional(z.record(z.string().regex(/^\d{1,7}$/), z.number().min(-100).max(100))),
}

/** Most choices of one request; each occupies a slot. */
const MAX_CHOICES = 16

/** Fields that control the form of the answer and its level of detail. */
const Shape = {
  n: optional(z.int().min(1).max(MAX_CHOICES)),
  logprobs: optional(z.boolean()),
  top_logprobs: optional(z.int().min(0).max(20)),
  tools: optional(z.array(FunctionTool).max(MAX_TOOLS)),
  tool_choice: optional(ToolChoice),
  parallel_tool_calls: optional(z.boolean()),
  response_format: optional(ResponseFormat),
}

/** Fields of unsupported features. Any value but the neutral one is refused. */
const Refused = {
  functions: optional(z.array(z.unknown())),
  function_call: optional(z.unknown()),
  modalities: optional(z.array(z.string())),
  audio: optional(z.unknown()),
  reasoning_effort: optional(z.string()),
  verbosity: optional(z.string()),
  moderation: optional(z.unknown()),
}

/** Fields of other servers that ask for what `response_format` asks for. */
const Extensions = {
  /** A JSON Schema (vLLM). */
  guided_json: optional(JsonSchema),
}

/** Fields that only label or route a request; accepted and ignored. */
const Labels = {
  user: optional(z.string().max(512)),
  metadata: optional(z.record(z.string().max(64), z.string().max(512))),
  service_tier: optional(z.string().max(64)),
  store: optional(z.boolean()),
  safety_identifier: optional(z.string().max(512)),
  ...PROMPT_CACHE,
}

export const ChatRequest = z.object({
  model: z.string().min(1).max(128),
  messages: z.array(ChatMessage).min(1).max(4096),
  /** Text placed before the messages, from our own interface. */
  system: optional(z.string()),
  stream: optional(z.boolean()),
  stream_options: optional(
    z.object({
      include_usage: z.boolean().exactOptional(),
      include_obfuscation: z.boolean().exactOptional(),
    }),
  ),
  max_tokens: optional(z.int().min(1)),
  max_completion_tokens: optional(z.int().min(1)),
  ...Sampling,
  ...Shape,
  ...Refused,
  ...Extensions,
  ...Labels,
})
export type ChatRequest = z.infer<typeof ChatRequest>

export const EmbeddingRequest = z.object({
  model: z.string().min(1).max(128),
  /** A string, strings, a list of token ids, or lists of them. */
  input: z.union(
    [
      z.string().min(1),
      z.array(z.string().min(1)).min(1).max(2048),
      z.array(z.int().min(0)).min(1).max(MAX_TOKEN_IDS),
      z
        .array(z.array(z.int().min(0)).min(1).max(MAX_TOKEN_IDS))
        .min(1)
        .max(2048),
    ],
    { error: 'must be a non-empty string, or an array of non-empty strings or token ids' },
  ),
  encoding_format: optional(z.enum(['float', 'base64'])),
  dimensions: optional(z.int().min(1)),
  user: optional(z.string().max(512)),
})
export type EmbeddingRequest = z.infer<typeof EmbeddingRequest>

export const EMBEDDING_RULES: RequestRules<EmbeddingRequest> = { schema: EmbeddingRequest }

export const Usage = z.object({
  prompt_tokens: z.int().nonnegative(),
  completion_tokens: z.int().nonnegative(),
  total_tokens: z.int().nonnegative(),
  prompt_tokens_details: z.object({ cached_tokens: z.int().nonnegative() }).exactOptional(),
})
export type Usage = z.infer<typeof Usage>

export const FinishReason = z.enum(['stop', 'length', 'tool_calls', 'content_filter'])
export type FinishReason = z.infer<typeof FinishReason>

export const ChatCompletion = z.object({
  id: z.string().describe('`chatcmpl-…`'),
  object: z.literal('chat.completion'),
  created: z.int().describe('Unix time, seconds.'),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.int(),
      message: z.object({
        role: z.literal('assistant'),
        content: z.string().nullable(),
        refusal: z.null(),
        tool_calls: z.array(ToolCall).exactOptional(),
      }),
      logprobs: ChoiceLogprobs.nullable(),
      finish_reason: FinishReason,
    }),
  ),
  usage: Usage,
})
export type ChatCompletion = z.infer<typeof ChatCompletion>

export const ChatCompletionChunk = z.object({
  id: z.string(),
  object: z.literal('chat.completion.chunk'),
  created: z.int(),
  model: z.string(),
  choices: z.array(
    z.object({
      index: z.int(),
      delta: z.object({
        role: z.literal('assistant').exactOptional(),
        content: z.string().nullable().exactOptional(),
        tool_calls: z.array(ToolCallDelta).exactOptional(),
      }),
      logprobs: ChoiceLogprobs.nullable(),
      finish_reason: FinishReason.nullable(),
    }),
  ),
  usage: Usage.nullable()
    .exactOptional()
    .describe('Only with `include_usage`: null on every chunk but the last, which has no choices.'),
})
export type ChatCompletionChunk = z.infer<typeof ChatCompletionChunk>

export const EmbeddingAnswer = z.object({
  object: z.literal('list'),
  data: z.array(
    z.object({
      object: z.literal('embedding'),
      index: z.int(),
      embedding: z
        .union([z.array(z.number()), z.string()])
        .describe('Numbers, or base64 of little-endian 32-bit floats.'),
    }),
  ),
  model: z.string(),
  usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
})
export type EmbeddingAnswer = z.infer<typeof EmbeddingAnswer>

export const ModelEntry = z.object({
  id: z.string(),
  object: z.literal('model'),
  created: z.int().describe('Unix time, seconds.'),
  owned_by: z.string(),
  weights: z
    .string()
    .exactOptional()
    .describe('`bundled-demo` where the small weights shipped with shoal serve the id.'),
  context_length: z
    .int()
    .exactOptional()
    .describe(
      'Most tokens of one request: prompt and answer. Absent from a cell without coordinator.',
    ),
})
export type ModelEntry = z.infer<typeof ModelEntry>

export const ModelList = z.object({ object: z.literal('list'), data: z.array(ModelEntry) })
export type ModelList = z.infer<typeof ModelList>
