import type { Labels, Metric } from '../../shared/metrics/metric.ts'

export const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/**
 * Metrics in Prometheus' text format 0.0.4 (prometheus/docs, instrumenting/exposition_formats.md).
 * A metric without values keeps its two lines, so that a reader knows it exists.
 */
export const prometheusText = (metrics: readonly Metric[]): string =>
  `${metrics.map(text).join('\n')}\n`

const text = ({ name, help, type, read }: Metric): string =>
  [
    `# HELP ${name} ${help.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')}`,
    `# TYPE ${name} ${type}`,
    ...read().map(
      ({ labels, value, suffix = '' }) => `${name}${suffix}${labelText(labels)} ${number(value)}`,
    ),
  ].join('\n')

const labelText = (labels: Labels): string => {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

const escapeLabel = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')

const number = (value: number): string => {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value)
}
