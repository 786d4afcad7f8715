import type { CellMetric } from '../fleet/metrics.ts'
import type { Monitor } from '../fleet/monitor.ts'
import { round } from './service-figures.ts'

/** Mean and maximum of a metric over a span of its series; null without a known value. */
export interface MetricSummary {
  mean: number | null
  max: number | null
  /** Points with a known value. */
  points: number
}

/** Summarises metrics of a cell by minute, from an instant on, in Unix milliseconds. */
export const summariseMetrics = async <M extends CellMetric>(
  { pointsOfMetrics }: Pick<Monitor, 'pointsOfMetrics'>,
  cellId: string,
  metrics: readonly M[],
  from: number,
): Promise<Record<M, MetricSummary>> => {
  const points = await pointsOfMetrics(cellId, metrics, '1m', from)
  const summaries = metrics.map(name => [name, summarisePoints(points.get(name) ?? [], from)])
  return Object.fromEntries(summaries)
}

/** Summarises the points from an instant on, in Unix milliseconds. */
export const summarisePoints = (
  points: readonly { at: number; value: number | null }[],
  from: number,
): MetricSummary => {
  const values = points.flatMap(({ at, value }) => (at >= from && value !== null ? [value] : []))
  if (values.length === 0) return { mean: null, max: null, points: 0 }
  const sum = values.reduce((all, value) => all + value, 0)
  return {
    mean: round(sum / values.length),
    max: round(Math.max(...values)),
    points: values.length,
  }
}
