import type { Histogram } from '../../shared/metrics/histogram.ts'
import { type Metric, toMetricValues } from '../../shared/metrics/metric.ts'
import type { EngineReport } from '../../shared/wire/telemetry.ts'
import type { JobFigures } from './job-figures.ts'
import type { StepCounts } from './protocol.ts'

/** As much of an engine as its metrics need. */
export interface MeasuredEngine {
  report(): EngineReport
  readonly figures: JobFigures
  readonly counts: StepCounts | undefined
}

const LABELS = ['weights', 'kind'] as const

/** Slots, queue, latencies, batches and prefixes of each engine. */
export const engineMetrics = (engines: readonly MeasuredEngine[]): Metric[] => {
  const labelsOf = (engine: MeasuredEngine) => {
    const { weights, kind } = engine.report()
    return { weights, kind }
  }
  const each = (
    type: 'counter' | 'gauge',
    name: string,
    help: string,
    of: (engine: MeasuredEngine) => number,
  ): Metric => ({
    name,
    type,
    help,
    labels: LABELS,
    read: () => engines.map(engine => ({ labels: labelsOf(engine), value: of(engine) })),
  })
  const latency = (name: string, help: string, of: (figures: JobFigures) => Histogram): Metric => ({
    name,
    type: 'histogram',
    help,
    labels: LABELS,
    read: () => engines.flatMap(engine => toMetricValues(labelsOf(engine), of(engine.figures))),
  })
  const parted = (
    name: string,
    help: string,
    label: string,
    of: (figures: JobFigures) => { value: number; part: string }[],
  ): Metric => ({
    name,
    type: 'counter',
    help,
    labels: [...LABELS, label],
    read: () =>
      engines.flatMap(engine =>
        of(engine.figures).map(({ value, part }) => ({
          labels: { ...labelsOf(engine), [label]: part },
          value,
        })),
      ),
  })

  return [
    each('gauge', 'shoal_engine_ready', 'Whether the model is loaded: 1 or 0.', engine =>
      Number(engine.report().state === 'ready'),
    ),
    each(
      'gauge',
      'shoal_engine_slots',
      'Requests that it can run at once.',
      engine => engine.report().slots,
    ),
    each(
      'gauge',
      'shoal_engine_slots_busy',
      'Requests that it runs now.',
      engine => engine.report().slots_busy,
    ),
    each(
      'gauge',
      'shoal_engine_queued',
      'Requests that wait for a slot.',
      engine => engine.report().queued,
    ),
    each(
      'counter',
      'shoal_engine_restarts_total',
      'Times its process died.',
      engine => engine.report().restarts,
    ),
    parted(
      'shoal_engine_requests_total',
      'Requests by how they ended: stop, length, cancelled, refused, turned_away, failed.',
      'end',
      ({ ends }) =>
        ends.read(['end']).map(({ labels, value }) => ({ part: labels.end ?? '', value })),
    ),
    latency(
      'shoal_engine_queue_duration_seconds',
      'From the request until a slot was free.',
      figures => figures.queueSeconds,
    ),
    latency(
      'shoal_engine_time_to_first_token_seconds',
      'From the request to the first piece of its text, queue and prompt included.',
      figures => figures.firstTokenSeconds,
    ),
    latency(
      'shoal_engine_inter_token_latency_seconds',
      'Between two pieces of text of one answer.',
      figures => figures.interTokenSeconds,
    ),
    parted(
      'shoal_engine_tokens_total',
      'Tokens of prompts and answers; cached ones are part of the prompts.',
      'part',
      ({ promptTokens, cachedTokens, completionTokens }) => [
        { part: 'prompt', value: promptTokens },
        { part: 'cached', value: cachedTokens },
        { part: 'completion', value: completionTokens },
      ],
    ),
    each(
      'counter',
      'shoal_engine_prompts_total',
      'Prompts that were read.',
      engine => engine.figures.prompts,
    ),
    each(
      'counter',
      'shoal_engine_prefix_hits_total',
      'Prompts whose beginning was still in a slot.',
      engine => engine.figures.prefixHits,
    ),
    each(
      'counter',
      'shoal_engine_steps_total',
      'Steps of the running process.',
      engine => engine.counts?.steps ?? 0,
    ),
    each(
      'counter',
      'shoal_engine_step_width_total',
      'Slots that took part in them; divided by the steps, the width of a batch.',
      engine => engine.counts?.width ?? 0,
    ),
    each(
      'counter',
      'shoal_engine_step_active_total',
      'Slots that could have taken part in them.',
      engine => engine.counts?.active ?? 0,
    ),
    each(
      'counter',
      'shoal_engine_step_tokens_total',
      'Tokens of them, prompts included.',
      engine => engine.counts?.tokens ?? 0,
    ),
  ]
}
