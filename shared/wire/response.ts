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
  logprobs: z
    .array(TextLogprob)
    .describe('Empty unless `include` or `top_logprobs` asked for them.'),
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
  call_id: z.string().describe('What `function_call_output` names.'),
  name: z.string(),
  arguments: z.string().describe('JSON as text.'),
})
export type OutputCall = z.infer<typeof OutputCall>

export const OutputItem = z.discriminatedUnion('type', [OutputMessage, OutputCall])
export type OutputItem = z.infer<typeof OutputItem>

export const ResponseUsage = z.object({
  input_tokens: z.int().nonnegative(),
  input_tokens_details: z.object({
    cached_tokens: z.int().nonnegative(),
    cache_write_tokens: z.int().nonnegative().describe('Always 0: nothing is stored for a fee.'),
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
  previous_response_id: z.null(),
  prompt_cache_key: z.string().nullable(),
  reasoning: z.object({ effort: z.null(), summary: z.null() }),
  safety_identifier: z.string().nullable(),
  background: z.literal(false),
  service_tier: z.string(),
  store: z.literal(false).describe('Nothing is kept, whatever was asked.'),
  temperature: z.number(),
  top_p: z.number(),
  presence_penalty: z.number(),
  frequency_penalty: z.number(),
  top_logprobs: z.int(),
  text: z.object({ format: TextFormat, verbosity: z.literal('medium') }),
  tool_choice: z.unknown().describe('As it was asked, `auto` by default.'),
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

const at = { sequence_number: z.int().describe('0, 1, 2 … in one stream.') }
const of = { ...at, item_id: z.string(), output_index: z.int() }
const ofPart = { ...of, content_index: z.int() }
const whole = <T extends string>(type: T) =>
  z.object({ type: z.literal(type), ...at, response: ModelResponse })
const item = <T extends string>(type: T) =>
  z.object({ type: z.literal(type), ...at, output_index: z.int(), item: OutputItem })
const part = <T extends string>(type: T) =>
  z.object({ type: z.literal(type), ...ofPart, part: OutputText })

/** One event of a streamed response; its `type` is also the name of the server-sent event. */
export const ResponseEvent = z.discriminatedUnion('type', [
  whole('response.created'),
  whole('response.in_progress'),
  item('response.output_item.added'),
  part('response.content_part.added'),
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
  part('response.content_part.done'),
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
  item('response.output_item.done'),
  whole('response.completed'),
  whole('response.incomplete'),
  whole('response.failed'),
])
export type ResponseEvent = z.infer<typeof ResponseEvent>
