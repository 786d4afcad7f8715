import * as z from 'zod'
import { createChoice } from '../../fields/choice.ts'
import { defineLookup } from '../../module.ts'

const Bytes = z.int().nonnegative()
const Text = z.string().max(256)

export const PULL_TASKS = ['general', 'chat', 'code', 'reasoning', 'vision', 'embedding'] as const

export const PullRecommendation = z.strictObject({
  task: z.enum(PULL_TASKS),
  vram_gb: z.number().describe('Decimal gigabytes, as vendors print them.'),
  usable_bytes: Bytes.describe('Part of the memory that a model may use: 92 percent.'),
  recommendations: z
    .array(
      z.strictObject({
        rank: z.int(),
        model: Text,
        runtime_tag: Text,
        pull_command: Text,
        quantization: z.string().max(16),
        parameters: z.int(),
        weights_bytes: Bytes,
        kv_cache_bytes: Bytes,
        overhead_bytes: Bytes,
        total_bytes: Bytes,
        context_length: z.int(),
        fits: z.boolean(),
        cpu_offload_percent: z.int().min(0).max(100),
        headroom_bytes: z.int(),
        licence: z.string().max(64).nullable(),
        reason: z.string().max(300),
      }),
    )
    .max(10),
  catalogue_version: z.string().max(32),
})
export type PullRecommendation = z.infer<typeof PullRecommendation>

export default defineLookup({
  id: 'runtime-pull-recommend',
  name: 'Model recommendation',
  description: 'Recommend models and quantizations that fit into the memory of a GPU.',
  tags: ['ai_ml', 'models', 'sizing'],
  constantBecause: 'It computes from its arguments and the list of models that is shipped.',
  access: 'key',
  reach: 'internet',
  input: z.strictObject({
    task: createChoice(PULL_TASKS).default('general'),
    vram_gb: z.number().min(0.5).max(4096).default(8).describe('Memory in decimal gigabytes.'),
  }),
  examples: [{ task: 'code', vram_gb: 24 }],
  deadlineSeconds: 20,
  data: PullRecommendation,
})
