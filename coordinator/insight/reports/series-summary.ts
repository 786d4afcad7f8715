import type { Monitor } from '../../fleet/alerts/monitor.ts'
import type { CellMetric } from '../../fleet/cells/metrics.ts'
import { createSlices } from '../../kernel/base/time-slices.ts'
import { round } from './service-metrics.ts'

/** Mean and maximum of a metric over a span of its series; null without a known value. */
export interface MetricSummary {
  mean: number | null
  max: number | null
  /** Points with a known value. */
  points: number
}

/** Summarises metrics of some cells by minute, from an instant on, in Unix milliseconds. */
export const summariseCells = async <M extends CellMetric>(
  { pointsOfCells }: Pick<Monitor, 'pointsOfCells'>,
  cellIds: readonly string[],
  metrics: readonly M[],
  from: number,
): Promise<Map<string, Record<M, MetricSummary>>> => {
  const pause = createSlices()
  const summaries = new Map<string, Record<M, MetricSummary>>()
  for await (const [cellId, points] of pointsOfCells(cellIds, metrics, '1m', from)) {
    const named = metrics.map(name => [name, summarisePoints(points.get(name) ?? [], from)])
    summaries.set(cellId, Object.fromEntries(named))
    await pause()
  }
  return summaries
}

/** Summarises the points from an instant on, in Unix milliseconds. */
const summarisePoints = (
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
