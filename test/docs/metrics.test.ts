import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Registry } from 'prom-client'
import t from 'tap'
import { parse } from 'yaml'
import { Budgets } from '../../coordinator/kernel/budgets/budgets.ts'
import { LimitsConfig } from '../../coordinator/kernel/budgets/limits-config.ts'
import {
  createCoordinatorMetrics,
  listCoordinatorMetrics,
} from '../../coordinator/surfaces/metrics/coordinator-metrics.ts'
import {
  addProcessMetrics,
  createPrometheusRegistry,
} from '../../coordinator/surfaces/metrics/prometheus.ts'
import { engineMetrics } from '../../daemon/inference/engine-metrics.ts'
import { cellMetrics } from '../../daemon/metrics/cell-metrics.ts'
import { prometheusText } from '../../daemon/metrics/prometheus-text.ts'
import type { Metric } from '../../shared/metrics/metric.ts'
import { lintMetrics } from '../support/lint-metrics.ts'

/* docs/metrics.md names every metric there is. */

const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'metrics.md'), 'utf8')

const coordinator = listCoordinatorMetrics({
  metrics: createCoordinatorMetrics(),
  budgets: new Budgets(LimitsConfig.parse({})),
  fleet: { cells: () => [].values() },
  vitals: { brokerConnected: () => true, storeProblem: () => undefined, loopDelayMs: () => 0 },
  replicas: { live: () => [], isLeader: () => true },
})
const cell = cellMetrics({ metrics: () => engineMetrics([]) }, { sample: () => ({ gpus: [] }) })

/** The unit a name ends with. */
const unitOf = (name: string): string =>
  /_(seconds|bytes|percent|celsius|watts)(_total)?$/.exec(name)?.[1] ?? ''

const code = (text: string): string => `\`${text}\``

export const formatMetricRow = ({ name, type, labels, help }: Metric): string =>
  `| ${code(name)} | ${type} | ${labels.map(code).join(' ')} | ${unitOf(name)} | ${help} |`

/** The rows of the table under a heading. */
const rowsUnder = (heading: string): string[] => {
  const section = page.split(/^## /m).find(part => part.startsWith(`${heading}\n`)) ?? ''
  return section.split('\n').filter(line => line.startsWith('| `'))
}

t.test('docs/metrics.md lists every coordinator metric with its definition', async t => {
  t.strictSame(rowsUnder('Coordinator'), coordinator.map(formatMetricRow))
})

t.test('docs/metrics.md lists every cell metric with its definition', async t => {
  t.strictSame(rowsUnder('Cells'), cell.map(formatMetricRow))
})

t.test('every metric of the process is documented', async t => {
  const names = addProcessMetrics(new Registry())
    .getMetricsAsArray()
    .map(({ name }) => name)
  const documented = rowsUnder('The process of the coordinator').map(
    row => /`([^`]+)`/.exec(row)?.[1] ?? '',
  )
  t.strictSame(documented.toSorted(), names.toSorted())
})

t.test('names, units and labels follow the Prometheus conventions', async t => {
  const isAsWanted = ({ name, type, labels }: Metric): boolean =>
    /^(shoal|process)_[a-z_]+$/.test(name) &&
    name.endsWith('_total') === (type === 'counter') &&
    (type !== 'histogram' || name.endsWith('_seconds')) &&
    labels.every(label => /^[a-z_]+$/.test(label))
  t.strictSame(
    [...coordinator, ...cell].filter(metric => !isAsWanted(metric)).map(({ name }) => name),
    [],
  )
})

t.test('what coordinator and cell expose passes the rules of promtool', async t => {
  const exposed = await addProcessMetrics(createPrometheusRegistry(coordinator)).metrics()
  t.strictSame(lintMetrics(exposed), [])
  t.strictSame(lintMetrics(prometheusText(cell)), [])
  for (const [text, problem] of [
    ['# HELP a_total A.\n# TYPE a_total gauge\na_total 1\n', /only counters/],
    ['# HELP a A.\n# TYPE a counter\na 1\n', /_total/],
    ['# TYPE a gauge\na 1\n', /no help/],
    ['# HELP a_ms A.\n# TYPE a_ms gauge\na_ms 1\n', /units/],
    ['# HELP a A.\n# TYPE a gauge\na{le="1"} 1\n', /histograms/],
    ['# HELP a A.\n# TYPE a gauge\na{b="x"} 1\na{b="x"} 2\n', /more than once/],
  ] as const)
    t.match(lintMetrics(text)[0], problem)
})

t.test('the scraper of the documentation trusts the authority of the coordinator', async t => {
  const [, example = ''] = /```yaml\n(scrape_configs:\n.*?)```/s.exec(page) ?? []
  const { scrape_configs } = parse(example)
  t.ok(scrape_configs.length > 0)
  for (const job of scrape_configs)
    t.match(job, {
      scheme: 'https',
      tls_config: { ca_file: /^\// },
      authorization: { credentials_file: /^\// },
    })
})
