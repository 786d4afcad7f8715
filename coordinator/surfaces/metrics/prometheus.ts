import { collectDefaultMetrics, type Metric as PromMetric, Registry } from 'prom-client'
import type { Metric } from '../../../shared/metrics/metric.ts'

/**
 * Our metrics in a registry of prom-client. They are kept as plain numbers and read when somebody
 * asks, so that counting costs a request next to nothing.
 */
export const createPrometheusRegistry = (metrics: readonly Metric[]): Registry => {
  const registry = new Registry()
  for (const metric of metrics) registry.registerMetric(toPromMetric(metric))
  return registry
}

/**
 * Gauges of prom-client whose suffix is that of a counter, which `promtool check metrics` refuses.
 * Each is the sum of the metric of the same name without the suffix.
 */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
]

/** The process, its memory and its event loop, in prom-client's own names; for a process's life. */
export const addProcessMetrics = (registry: Registry): Registry => {
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  return registry
}

/** Part of prom-client's interface that a registry needs of a registered metric. */
const toPromMetric = ({ name, help, type, read }: Metric): PromMetric => {
  const get = async () => ({
    name,
    help,
    type,
    aggregator: 'sum',
    values: read().map(({ labels, value, suffix }) => ({
      labels,
      value,
      ...(suffix !== undefined && { metricName: `${name}${suffix}` }),
    })),
  })
  return { name, help, type, get, reset: () => {} } as unknown as PromMetric
}
