import { round } from './service-figures.ts'

/** Mean and maximum of a metric over a span of its series; null without a known value. */
export interface MetricSummary {
  mean: number | null
  max: number | null
  /** Points with a known value. */
  points: number
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
