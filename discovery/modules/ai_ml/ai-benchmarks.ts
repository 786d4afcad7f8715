import * as z from 'zod'
import { createChoice } from '../../fields/choice.ts'
import { defineLookup } from '../../module.ts'

const Text = z.string().max(256)
const Url = z.string().max(2048)

export const BenchmarkBoard = z.strictObject({
  id: Text,
  name: Text,
  url: Url,
  metric: Text,
  unit: z
    .enum(['percent', 'fraction', 'index'])
    .describe('Unit of value_raw; boards do not state it, so that it follows from their values.'),
  updated_at: z.iso.datetime().nullable(),
  entries: z
    .array(
      z.strictObject({
        rank: z.int(),
        model: Text,
        provider: Text.nullable(),
        value_raw: z.number(),
        value_percent: z.number().nullable(),
        verified: z.boolean(),
        notes: z.string().max(512).nullable(),
        source_url: Url.nullable(),
        cost_usd: z.number().nullable(),
      }),
    )
    .max(25),
})
export type BenchmarkBoard = z.infer<typeof BenchmarkBoard>

export const AiBenchmarks = z.strictObject({
  task: z.string().max(64).nullable(),
  boards: z.array(BenchmarkBoard).max(20),
})
export type AiBenchmarks = z.infer<typeof AiBenchmarks>

export default defineLookup({
  id: 'ai-benchmarks',
  name: 'AI benchmarks',
  description: 'Read leaderboards of models for a task.',
  tags: ['ai_ml', 'models', 'benchmarks'],
  access: 'key',
  reach: 'internet',
  input: z.strictObject({
    task: createChoice(['general', 'reasoning', 'math', 'code', 'document'])
      .exactOptional()
      .describe('All tasks when absent.'),
  }),
  examples: [{ task: 'code' }],
  deadlineSeconds: 45,
  data: AiBenchmarks,
})
