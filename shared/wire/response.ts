import * as z from 'zod'
import { TextFormat } from './responses.ts'

/** Answer of the Responses API (openai/openai-openapi, schema Response; openresponses.org). */
export const ItemStatus = z.enum(['in_progress', 'completed', 'incomplete'])
export type ItemStatus = z.infer<typeof ItemStatus>

const Logprob = z.object({
  token: z.string(),
  logprob: z.number(),
  bytes: z.array(z.int()).nullable(),
})
export const TextLogprob = Logprob.extend({ top_logprobs: z.array(Logprob) })
export type TextLogprob = z.infer<typeof TextLogprob>

export const OutputText = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.unknown()).describe('Always empty.'),
  logprobs: z.array(TextLogprob).describe('Empty unless requested by `include` or `top_logprobs`.'),
})
export type OutputText = z.infer<typeof OutputText>

export const OutputMessage = z.object({
  id: z.string().describe('`msg_…`'),
  type: z.literal('message'),
  status: ItemStatus,
  role: z.literal('assistant'),
  content: z.array(OutputText),
})
export type OutputMessage = z.infer<typeof OutputMessage>

export const OutputCall = z.object({
  id: z.string().describe('`fc_…`'),
  type: z.literal('function_call'),
  status: ItemStatus,
  call_id: z.string().describe('Id that `function_call_output` refers to.'),
  name: z.string(),
  arguments: z.string().describe('JSON text.'),
})
export type OutputCall = z.infer<typeof OutputCall>

export const OutputItem = z.discriminatedUnion('type', [OutputMessage, OutputCall])
export type OutputItem = z.infer<typeof OutputItem>

export const ResponseUsage = z.object({
  input_tokens: z.int().nonnegative(),
  input_tokens_details: z.object({
    cached_tokens: z.int().nonnegative(),
    cache_write_tokens: z.int().nonnegative().describe('Always 0: cache writes are not charged.'),
  }),
  output_tokens: z.int().nonnegative(),
  output_tokens_details: z.object({ reasoning_tokens: z.int().nonnegative() }),
  total_tokens: z.int().nonnegative(),
})
export type ResponseUsage = z.infer<typeof ResponseUsage>

const ResponseError = z.object({ code: z.string(), message: z.string() })

export const ModelResponse = z.object({
  id: z.string().describe('`resp_…`'),
  object: z.literal('response'),
  created_at: z.int().describe('Unix time, seconds.'),
  completed_at: z.int().nullable().describe('Unix time, seconds.'),
  status: z.enum(['in_progress', 'completed', 'incomplete', 'failed']),
  error: ResponseError.nullable(),
  incomplete_details: z
    .object({ reason: z.enum(['max_output_tokens', 'content_filter']) })
    .nullable(),
  instructions: z.string().nullable(),
  max_output_tokens: z.int().nullable(),
  max_tool_calls: z.null(),
  model: z.string(),
  output: z.array(OutputItem),
  parallel_tool_calls: z.boolean(),
  previous_response_id: z.string().nullable(),
  prompt_cache_key: z.string().nullable(),
  reasoning: z.object({ effort: z.null(), summary: z.null() }),
  safety_identifier: z.string().nullable(),
  background: z.literal(false),
  service_tier: z.string(),
  store: z
    .boolean()
    .describe('True when the response is stored for `previous_response_id`, GET and DELETE.'),
  temperature: z.number(),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.int(),
  text: z.object({ format: TextFormat, verbosity: z.literal('medium') }),
  tool_choice: z.unknown().describe('Value of the request, `auto` by default.'),
  tools: z.array(
    z.object({
      type: z.literal('function'),
      name: z.string(),
      description: z.string().nullable(),
      parameters: z.record(z.string(), z.unknown()).nullable(),
      strict: z.boolean().nullable(),
    }),
  ),
  truncation: z.literal('disabled'),
  usage: ResponseUsage.nullable().describe('Null until the response has ended.'),
  user: z.string().nullable(),
  metadata: z.record(z.string(), z.string()),
})
export type ModelResponse = z.infer<typeof ModelResponse>

const at = { sequence_number: z.int().describe('Position in the stream: 0, 1, 2 …') }
const of = { ...at, item_id: z.string(), output_index: z.int() }
const ofPart = { ...of, content_index: z.int() }
const responseEvent = <T extends string>(type: T) =>
  z.object({ type: z.literal(type), ...at, response: ModelResponse })
const itemEvent = <T extends string>(type: T) =>
  z.object({ type: z.literal(type), ...at, output_index: z.int(), item: OutputItem })
const partEvent = <T extends string>(type: T) =>
  z.object({ type: z.literal(type), ...ofPart, part: OutputText })

/** One event of a streamed response; its `type` is also the name of the server-sent event. */
export const ResponseEvent = z.discriminatedUnion('type', [
  responseEvent('response.created'),
  responseEvent('response.in_progress'),
  itemEvent('response.output_item.added'),
  partEvent('response.content_part.added'),
  z.object({
    type: z.literal('response.output_text.delta'),
    ...ofPart,
    delta: z.string(),
    logprobs: z.array(TextLogprob),
  }),
  z.object({
    type: z.literal('response.output_text.done'),
    ...ofPart,
    text: z.string(),
    logprobs: z.array(TextLogprob),
  }),
  partEvent('response.content_part.done'),
  z.object({
    type: z.literal('response.function_call_arguments.delta'),
    ...of,
    delta: z.string(),
  }),
  z.object({
    type: z.literal('response.function_call_arguments.done'),
    ...of,
    name: z.string(),
    arguments: z.string(),
  }),
  itemEvent('response.output_item.done'),
  responseEvent('response.completed'),
  responseEvent('response.incomplete'),
  responseEvent('response.failed'),
])
export type ResponseEvent = z.infer<typeof ResponseEvent>
