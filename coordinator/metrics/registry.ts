import { collectDefaultMetrics, type Metric as PromMetric, Registry } from 'prom-client'
import type { Metric } from '../../shared/metrics/metric.ts'

/**
 * Our metrics in a registry of prom-client. They are kept as plain numbers and read when somebody
 * asks, so that counting costs a request next to nothing.
 */
export const metricRegistry = (metrics: readonly Metric[]): Registry => {
  const registry = new Registry()
  for (const metric of metrics) registry.registerMetric(toPromMetric(metric))
  return registry
}

/** The process, its memory and its event loop, in prom-client's own names; for a process's life. */
export const addProcessMetrics = (registry: Registry): Registry => {
  collectDefaultMetrics({ register: registry })
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
