import * as z from 'zod'
import { firstIssue } from '../first-issue.ts'
import { optional } from './optional.ts'
import { PROMPT_CACHE } from './prompt-cache.ts'
import type { Problem } from './read-request.ts'

/**
 * Request of OpenAI's Responses API as far as shoal supports it (openai/openai-openapi,
 * CreateResponse; openresponses.org). Item types that no model here supports are parsed, so that the
 * refusal can name them.
 */
const MAX_ITEMS = 4096
const MAX_PARTS = 4096
const MAX_TOOLS = 128
const Name = z.string().regex(/^[\w-]{1,64}$/, { error: 'must be 1 to 64 letters, digits, _ or -' })
const JsonSchema = z.record(z.string(), z.unknown())

/** Object whose type is none of these. */
const otherType = (...types: string[]) =>
  z.looseObject({ type: z.string().refine(type => !types.includes(type)) })

/** Text of the caller or of an earlier answer; other types are refused by name. */
const InputPart = z.union(
  [
    z.looseObject({ type: z.enum(['input_text', 'output_text', 'text']), text: z.string() }),
    otherType('input_text', 'output_text', 'text'),
  ],
  { error: 'a part must have a type' },
)
export type InputPart = z.infer<typeof InputPart>

const ItemContent = z.union([z.string(), z.array(InputPart).max(MAX_PARTS)], {
  error: 'must be a string or an array of parts',
})

/** Fields that clients send back as received. */
const Kept = {
  id: optional(z.string().max(256)),
  status: optional(z.enum(['in_progress', 'completed', 'incomplete'])),
}

export const InputMessage = z.object({
  type: z.literal('message').exactOptional(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content: ItemContent,
  phase: optional(z.enum(['commentary', 'final_answer'])),
  ...Kept,
})
export type InputMessage = z.infer<typeof InputMessage>

const InputCall = z.object({
  type: z.literal('function_call'),
  call_id: z.string().min(1).max(128),
  name: Name,
  arguments: z.string(),
  ...Kept,
})
type InputCall = z.infer<typeof InputCall>

const InputCallOutput = z.object({
  type: z.literal('function_call_output'),
  call_id: z.string().min(1).max(128),
  output: ItemContent,
  ...Kept,
})
type InputCallOutput = z.infer<typeof InputCallOutput>

const OtherItem = otherType('message', 'function_call', 'function_call_output')

const InputItem = z.union([InputMessage, InputCall, InputCallOutput, OtherItem])
export type InputItem = z.infer<typeof InputItem>

export const ResponsesFunction = z.object({
  type: z.literal('function'),
  name: Name,
  description: optional(z.string()),
  parameters: optional(JsonSchema),
  strict: optional(z.boolean()),
})
export type ResponsesFunction = z.infer<typeof ResponsesFunction>

const ToolChoiceMode = z.enum(['none', 'auto', 'required'])
const NamedTool = z.object({ type: z.literal('function'), name: Name })

const ResponsesToolChoice = z.union(
  [
    ToolChoiceMode,
    NamedTool,
    z.object({
      type: z.literal('allowed_tools'),
      mode: z.enum(['auto', 'required']),
      tools: z.array(NamedTool).min(1).max(MAX_TOOLS),
    }),
  ],
  { error: 'must be none, auto, required, or an object with a type' },
)

export const TextFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    name: Name,
    schema: JsonSchema,
    description: optional(z.string()),
    strict: optional(z.boolean()),
  }),
])
export type TextFormat = z.infer<typeof TextFormat>

export const ResponsesRequest = z.object({
  model: z.string().min(1).max(128),
  input: z.union([z.string(), z.array(InputItem).min(1).max(MAX_ITEMS)], {
    error: 'must be a string or a non-empty array of items',
  }),
  /** System message placed before the input. */
  instructions: optional(z.string()),
  stream: optional(z.boolean()),
  stream_options: optional(z.object({ include_obfuscation: z.boolean().exactOptional() })),
  max_output_tokens: optional(z.int().min(1)),
  temperature: optional(z.number().min(0).max(2)),
  top_p: optional(z.number().gt(0).max(1)),
  presence_penalty: optional(z.number().min(-2).max(2)),
  frequency_penalty: optional(z.number().min(-2).max(2)),
  top_logprobs: optional(z.int().min(0).max(20)),
  text: optional(z.object({ format: optional(TextFormat), verbosity: optional(z.string()) })),
  tools: optional(z.array(ResponsesFunction).max(MAX_TOOLS)),
  tool_choice: optional(ResponsesToolChoice),
  parallel_tool_calls: optional(z.boolean()),
  /** Fields that the answer has anyway, and `message.output_text.logprobs`. */
  include: optional(z.array(z.string()).max(32)),
  reasoning: optional(z.looseObject({ effort: optional(z.string()) })),
  background: optional(z.boolean()),
  conversation: optional(z.unknown()),
  context_management: optional(z.array(z.unknown())),
  max_tool_calls: optional(z.int()),
  moderation: optional(z.unknown()),
  previous_response_id: optional(z.string()),
  prompt: optional(z.unknown()),
  truncation: optional(z.enum(['auto', 'disabled'])),
  /** Keeps the response for 30 days; a cell without coordinator stores nothing, and says so. */
  store: optional(z.boolean()),
  metadata: optional(z.record(z.string().max(64), z.string().max(512))),
  user: optional(z.string().max(512)),
  service_tier: optional(z.string().max(64)),
  safety_identifier: optional(z.string().max(512)),
  ...PROMPT_CACHE,
})
export type ResponsesRequest = z.infer<typeof ResponsesRequest>

/** First issue of a body that does not parse; items are checked by their type. */
export const findRequestIssue = (error: z.ZodError, body: unknown): Problem => {
  const { input } = Object(body) as { input?: unknown }
  for (const [index, item] of (Array.isArray(input) ? input : []).entries()) {
    const result = itemSchema(Object(item).type).safeParse(item)
    if (!result.success) return prefixIssue(`input.${index}`, firstIssue(result.error, item))
  }
  return firstIssue(error, body)
}

const itemSchema = (type: unknown): z.ZodType => {
  if (type === undefined || type === 'message') return InputMessage
  if (type === 'function_call') return InputCall
  return type === 'function_call_output' ? InputCallOutput : OtherItem
}

const prefixIssue = (path: string, { param, message }: Problem): Problem => ({
  param: param === undefined ? path : `${path}.${param}`,
  message: `${path}: ${message}`,
})

export const isMessage = (item: InputItem): item is InputMessage => 'role' in item
export const isCall = (item: InputItem): item is InputCall => item.type === 'function_call'
export const isCallOutput = (item: InputItem): item is InputCallOutput =>
  item.type === 'function_call_output'
export const isText = (part: InputPart): part is InputPart & { text: string } =>
  part.type === 'input_text' || part.type === 'output_text' || part.type === 'text'
