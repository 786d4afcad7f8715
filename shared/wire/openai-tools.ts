import * as z from 'zod'

/**
 * Function tools of the OpenAI REST API (openai/openai-openapi: ChatCompletionTool,
 * ChatCompletionToolChoiceOption, ChatCompletionMessageToolCall).
 */
const FunctionName = z
  .string()
  .regex(/^[\w-]{1,64}$/, { error: 'a function name has 1 to 64 letters, digits, _ and -' })

/** A JSON Schema. The grammar builder decides which keywords are supported. */
export const JsonSchema = z.record(z.string(), z.unknown())
export type JsonSchema = z.infer<typeof JsonSchema>

/** OpenAI's limit. */
export const MAX_TOOLS = 128

export const FunctionTool = z.object({
  type: z.literal('function'),
  function: z.object({
    name: FunctionName,
    description: z.string().nullable().exactOptional(),
    /** JSON Schema of the arguments; the function takes none if absent. */
    parameters: JsonSchema.nullable().exactOptional(),
    strict: z.boolean().nullable().exactOptional(),
  }),
})
export type FunctionTool = z.infer<typeof FunctionTool>

const NamedFunction = z.object({
  type: z.literal('function'),
  function: z.object({ name: FunctionName }),
})

export const ToolChoice = z.union(
  [
    z.enum(['none', 'auto', 'required']),
    NamedFunction,
    z.object({
      type: z.literal('allowed_tools'),
      allowed_tools: z.object({
        mode: z.enum(['auto', 'required']),
        tools: z.array(NamedFunction).min(1).max(MAX_TOOLS),
      }),
    }),
  ],
  {
    error:
      'tool_choice is none, auto, required, {type: "function", function: {name}} or {type: "allowed_tools", allowed_tools: {mode, tools}}',
  },
)
export type ToolChoice = z.infer<typeof ToolChoice>

/** A call in a message. `arguments` is JSON text as the model wrote it. */
export const ToolCall = z.object({
  id: z.string().min(1).max(128),
  type: z.literal('function'),
  function: z.object({ name: FunctionName, arguments: z.string() }),
})
export type ToolCall = z.infer<typeof ToolCall>

/** A call as a client sends it back, with the fields that client libraries add. */
export const SentToolCall = ToolCall.extend({
  index: z.int().exactOptional(),
  function: ToolCall.shape.function.extend({ parsed_arguments: z.unknown().exactOptional() }),
})

/** Piece of a call in a stream: id, type and name arrive once, then pieces of the arguments. */
export const ToolCallDelta = z.object({
  index: z.int().nonnegative(),
  id: z.string().exactOptional(),
  type: z.literal('function').exactOptional(),
  function: z.object({ name: z.string().exactOptional(), arguments: z.string() }),
})
export type ToolCallDelta = z.infer<typeof ToolCallDelta>
