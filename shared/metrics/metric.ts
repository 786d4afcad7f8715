import type { Histogram } from './histogram.ts'

export type Labels = Readonly<Record<string, string>>

/** One line of an exposition: `name + suffix {labels} value`. */
interface MetricValue {
  labels: Labels
  value: number
  suffix?: '_bucket' | '_sum' | '_count'
}

/** A Prometheus metric whose values are read at scrape time. */
export interface Metric {
  /** Snake case, with the unit at the end; counters end in `_total`. */
  name: string
  type: 'counter' | 'gauge' | 'histogram'
  /** One sentence. */
  help: string
  /** Names of the labels that every value has; for a histogram without `le`. */
  labels: readonly string[]
  read: () => MetricValue[]
}

/** Converts a histogram to the values of a metric. */
export const toMetricValues = (labels: Labels, histogram: Histogram): MetricValue[] => {
  const cumulative = histogram.toCumulative()
  const bounds = [...histogram.bounds.map(String), '+Inf']
  const count = cumulative.at(-1) ?? 0
  return [
    ...bounds.map((le, i) => ({
      labels: { ...labels, le },
      value: cumulative[i] ?? count,
      suffix: '_bucket' as const,
    })),
    { labels, value: histogram.sum, suffix: '_sum' },
    { labels, value: count, suffix: '_count' },
  ]
}

const NONE: Labels = {}

/** Creates a metric without labels. */
export const createMetric = (
  facts: Pick<Metric, 'name' | 'type' | 'help'>,
  read: () => number | Histogram | undefined,
): Metric => ({
  ...facts,
  labels: [],
  read: () => {
    const value = read()
    if (value === undefined) return []
    return typeof value === 'number' ? [{ labels: NONE, value }] : toMetricValues(NONE, value)
  },
})

/** Counts by label values, in the order of the labels. */
export class Tally {
  readonly #counts = new Map<string, { values: readonly string[]; count: number }>()

  /** The label values must come from a bounded set. */
  add(values: readonly string[], by = 1): void {
    const name = values.join('\n')
    const entry = this.#counts.get(name)
    if (entry === undefined) this.#counts.set(name, { values, count: by })
    else entry.count += by
  }

  read(labels: readonly string[]): MetricValue[] {
    return [...this.#counts.values()].map(({ values, count }) => ({
      labels: Object.fromEntries(labels.map((label, i) => [label, values[i] ?? ''])),
      value: count,
    }))
  }
}

/** Creates a counter over a tally. */
export const createCounter = (
  facts: Pick<Metric, 'name' | 'help' | 'labels'>,
  tally: Tally,
): Metric => ({
  ...facts,
  type: 'counter',
  read: () => tally.read(facts.labels),
})
