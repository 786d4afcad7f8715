import * as z from 'zod'
import { DataState } from './data-state.ts'

/** Flows and their runs, by state. */
export const FlowCounts = z.object({
  data_state: DataState,
  flows: z.int().describe('Flows that are defined.'),
  runs: z.record(z.string(), z.int()).describe('Runs by state.'),
})

/** Synergies and how many of them were executed. */
export const SynergyCounts = z.object({
  data_state: DataState,
  synergies: z.int(),
  executed: z.int(),
  health_percent: z.number().nullable().describe('Executed ones of all; null without one.'),
})

/** A configured service, as it answers now. */
export const ServiceState = z.object({
  service_id: z.string(),
  state: z.enum(['up', 'degraded', 'down', 'unknown']),
  reason: z.string().nullable(),
})
