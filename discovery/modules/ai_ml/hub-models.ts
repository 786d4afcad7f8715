import * as z from 'zod'
import { defineLookup } from '../../module.ts'

const Text = z.string().max(256)

export const HubModels = z.strictObject({
  task: z.string().max(64).nullable(),
  pipeline_tag: z.string().max(64).nullable().describe('Task, as the hub names it.'),
  total_returned: z.int(),
  models: z
    .array(
      z.strictObject({
        id: Text,
        author: Text,
        name: Text,
        task: z.string().max(64).nullable(),
        library: z.string().max(64).nullable(),
        licence: z.string().max(64).nullable(),
        gated: z.enum(['no', 'auto', 'manual']),
        downloads_30d: z.int(),
        likes: z.int(),
        trending_score: z.number().nullable(),
        parameters: z.int().nullable(),
        context_length: z.int().nullable(),
        formats: z.array(z.enum(['gguf', 'safetensors', 'onnx', 'mlx'])).max(4),
        base_model: Text.nullable(),
        created_at: z.iso.datetime().nullable(),
        updated_at: z.iso.datetime().nullable(),
        url: z.string().max(512),
      }),
    )
    .max(100),
})
export type HubModels = z.infer<typeof HubModels>

export default defineLookup({
  id: 'hub-models',
  name: 'Hub models',
  description: 'List trending models of a task on the Hugging Face Hub.',
  tags: ['ai_ml', 'models', 'hub'],
  access: 'key',
  reach: 'internet',
  input: z.strictObject({
    limit: z.int().min(1).max(100).exactOptional().describe('Models to list; 20 when absent.'),
    task: z
      .string()
      .regex(/^[a-z0-9-]{2,64}$/)
      .exactOptional()
      .describe('chat, embedding, vision, speech, code, general, or a pipeline tag of the hub.'),
  }),
  examples: [{ limit: 10, task: 'chat' }],
  deadlineSeconds: 30,
  data: HubModels,
})
