import * as z from 'zod'
import { JsonSchema } from './openai-tools.ts'

/** openai/openai-openapi: `response_format` of CreateChatCompletionRequest. */
export const ResponseFormat = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text') }),
  z.object({ type: z.literal('json_object') }),
  z.object({
    type: z.literal('json_schema'),
    json_schema: z.object({
      name: z.string().regex(/^[\w-]{1,64}$/),
      description: z.string().nullable().exactOptional(),
      /** JSON Schema of the answer; any JSON object is valid if absent. */
      schema: JsonSchema.nullable().exactOptional(),
      strict: z.boolean().nullable().exactOptional(),
    }),
  }),
])
export type ResponseFormat = z.infer<typeof ResponseFormat>
