import { type CoordinatorMetrics, createCoordinatorMetrics } from './coordinator-metrics.ts'

/** Counters of the coordinator's parts. */
export const openMetrics = (): { metrics: CoordinatorMetrics } => ({
  metrics: createCoordinatorMetrics(),
})
