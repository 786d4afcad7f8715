import type { Histogram } from '../../shared/metrics/histogram.ts'
import { type Metric, toMetricValues } from '../../shared/metrics/metric.ts'
import type { EngineReport } from '../../shared/wire/telemetry.ts'
import type { JobMetrics } from './job-metrics.ts'
import type { StepCounts } from './protocol.ts'

/** Parts of an engine that its metrics read. */
interface MeasuredEngine {
  report(): EngineReport
  readonly metrics: JobMetrics
  readonly counts: StepCounts | undefined
}

type Engines = readonly MeasuredEngine[]

/** Slots, queue, latencies, batches and prefixes of each engine. */
export const engineMetrics = (engines: Engines): Metric[] => [
  ...slotMetrics(engines),
  ...requestMetrics(engines),
  ...promptMetrics(engines),
  ...stepMetrics(engines),
]

const slotMetrics = (engines: Engines): Metric[] => {
  const gauge = (name: string, help: string, read: (report: EngineReport) => number) =>
    engineMetric(engines, 'gauge', name, help, engine => read(engine.report()))
  return [
    gauge('shoal_engine_ready', 'Whether the model is loaded: 1 or 0.', ({ state }) =>
      Number(state === 'ready'),
    ),
    gauge('shoal_engine_slots', 'Requests that it can run concurrently.', ({ slots }) => slots),
    gauge('shoal_engine_slots_busy', 'Requests running now.', report => report.slots_busy),
    gauge('shoal_engine_queued', 'Requests waiting for a slot.', ({ queued }) => queued),
    engineMetric(
      engines,
      'counter',
      'shoal_engine_restarts_total',
      'Crashes of its process.',
      engine => engine.report().restarts,
    ),
  ]
}

const requestMetrics = (engines: Engines): Metric[] => [
  partMetric(
    engines,
    'shoal_engine_requests_total',
    'Requests by how they ended: stop, length, cancelled, refused, turned_away, failed.',
    'end',
    ({ ends }) =>
      ends.read(['end']).map(({ labels, value }) => ({ part: labels.end ?? '', value })),
  ),
  latencyMetric(
    engines,
    'shoal_engine_queue_duration_seconds',
    'Time from the request until a slot was free.',
    metrics => metrics.queueSeconds,
  ),
  latencyMetric(
    engines,
    'shoal_engine_time_to_first_token_seconds',
    'Time from the request to the first piece of its text, including queue and prompt.',
    metrics => metrics.firstTokenSeconds,
  ),
  latencyMetric(
    engines,
    'shoal_engine_inter_token_latency_seconds',
    'Time between two pieces of text of one answer.',
    metrics => metrics.interTokenSeconds,
  ),
]

const promptMetrics = (engines: Engines): Metric[] => [
  partMetric(
    engines,
    'shoal_engine_tokens_total',
    'Tokens of prompts and answers; cached ones are part of the prompts.',
    'part',
    ({ promptTokens, cachedTokens, completionTokens }) => [
      { part: 'prompt', value: promptTokens },
      { part: 'cached', value: cachedTokens },
      { part: 'completion', value: completionTokens },
    ],
  ),
  engineMetric(
    engines,
    'counter',
    'shoal_engine_prompts_total',
    'Prompts that were read.',
    engine => engine.metrics.prompts,
  ),
  engineMetric(
    engines,
    'counter',
    'shoal_engine_prefix_hits_total',
    'Prompts whose beginning was still in a slot.',
    engine => engine.metrics.prefixHits,
  ),
]

const stepMetrics = (engines: Engines): Metric[] => {
  const counter = (name: string, help: string, field: keyof StepCounts) =>
    engineMetric(engines, 'counter', name, help, engine => engine.counts?.[field] ?? 0)
  return [
    counter('shoal_engine_steps_total', 'Steps of the running process.', 'steps'),
    counter(
      'shoal_engine_step_width_total',
      'Slots that took part in steps; divided by the steps, the width of a batch.',
      'width',
    ),
    counter(
      'shoal_engine_step_active_total',
      'Slots that could have taken part in steps.',
      'active',
    ),
    counter('shoal_engine_step_tokens_total', 'Tokens of steps, including prompts.', 'tokens'),
  ]
}

const LABELS = ['weights', 'kind'] as const

const labelsOf = (engine: MeasuredEngine) => {
  const { weights, kind } = engine.report()
  return { weights, kind }
}

/** Metric with one value per engine. */
const engineMetric = (
  engines: Engines,
  type: 'counter' | 'gauge',
  name: string,
  help: string,
  readValue: (engine: MeasuredEngine) => number,
): Metric => ({
  name,
  type,
  help,
  labels: LABELS,
  read: () => engines.map(engine => ({ labels: labelsOf(engine), value: readValue(engine) })),
})

const latencyMetric = (
  engines: Engines,
  name: string,
  help: string,
  histogramOf: (metrics: JobMetrics) => Histogram,
): Metric => ({
  name,
  type: 'histogram',
  help,
  labels: LABELS,
  read: () =>
    engines.flatMap(engine => toMetricValues(labelsOf(engine), histogramOf(engine.metrics))),
})

/** Counter with one value per engine and part, such as the outcome of a request. */
const partMetric = (
  engines: Engines,
  name: string,
  help: string,
  label: string,
  readParts: (metrics: JobMetrics) => { value: number; part: string }[],
): Metric => ({
  name,
  type: 'counter',
  help,
  labels: [...LABELS, label],
  read: () =>
    engines.flatMap(engine =>
      readParts(engine.metrics).map(({ value, part }) => ({
        labels: { ...labelsOf(engine), [label]: part },
        value,
      })),
    ),
})
