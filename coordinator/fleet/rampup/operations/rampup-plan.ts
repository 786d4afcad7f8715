import * as z from 'zod'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { RampUpViews } from '../open.ts'
import { RAMP_UP_GATE } from '../ramp-ups.ts'

export default defineOperation({
  id: 'rampup-plan',
  description:
    'Dry run of `rampup-control` with the action start: the settings, and the cells of each stage. Nothing is requested or changed.',
  method: 'GET',
  path: '/v1/rampup/plan',
  access: 'operator',
  effect: 'read',
  tool: false,
  input: z.strictObject({}),
  output: z.object({
    gate_id: z.string().describe('Gate that a start needs the approval of.'),
    document: z.json().describe('Settings that the cells get.'),
    stages: z.array(z.object({ stage: z.int(), cell_ids: z.array(z.string()) })),
    apply_seconds: z.number().describe('Longest time for the cells of a stage to apply them.'),
    hold_seconds: z.number().describe('Time for which each stage is watched.'),
    error_rise_percent: z.number().describe('Rise of the share of failed requests that aborts.'),
    min_requests: z.int().describe('Requests below which that share is not judged.'),
  }),
  run: async (_input, { rampUps }: RampUpViews) => {
    const { document, stages, apply_seconds, hold_seconds, error_rise_percent, min_requests } =
      await rampUps.plan()
    return {
      gate_id: RAMP_UP_GATE,
      document: document as z.core.util.JSONType,
      stages: stages.map((cell_ids, i) => ({ stage: i + 1, cell_ids })),
      apply_seconds,
      hold_seconds,
      error_rise_percent,
      min_requests,
    }
  },
})
