import * as z from 'zod'
import { Settings } from '../../../shared/wire/desired.ts'

/** Settings that `rampup-control` rolls out in stages; see docs/flows.md. */
export const RampUpConfig = z.strictObject({
  document: Settings.optional().describe(
    'Settings that the cells get, such as `{ inference: { slots: 8 } }`.',
  ),
  tag: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('Tag of the cells that take part; every cell that serves requests by default.'),
  stages_percent: z
    .array(z.number().positive().max(100))
    .min(1)
    .max(10)
    .default([10, 50, 100])
    .refine(stages => stages.every((stage, at) => at === 0 || stage > (stages[at - 1] ?? 0)), {
      error: 'must increase',
    })
    .describe('Share of the cells that has the settings after each stage.'),
  apply_seconds: z
    .number()
    .min(1)
    .max(3600)
    .default(120)
    .describe('Longest time until every cell of a stage has applied its settings.'),
  hold_seconds: z
    .number()
    .min(0)
    .max(86_400)
    .default(300)
    .describe('Time in which the cells of a stage must stay healthy before the next one.'),
  error_rise_percent: z
    .number()
    .min(0)
    .max(100)
    .default(5)
    .describe(
      'Percentage points by which failed requests may rise on the cells that have the settings.',
    ),
  min_requests: z
    .int()
    .min(1)
    .max(1_000_000)
    .default(20)
    .describe('Requests of a stage from which failed ones are judged.'),
})
export type RampUpConfig = z.output<typeof RampUpConfig>
