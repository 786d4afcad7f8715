import * as z from 'zod'
import { iso } from '../../../shared/time.ts'
import { figure } from '../../../shared/unknown-fields.ts'
import type { Period } from '../reports/period.ts'
import { metricsOf, NO_USAGE, type UsageSums } from '../reports/service-metrics.ts'

export const PeriodView = z.object({
  from: z.iso.datetime(),
  /** End of the period, exclusive; the last hour is still running. */
  to: z.iso.datetime(),
})

export const viewPeriod = ({ from, to }: Period): z.input<typeof PeriodView> => ({
  from: iso(from),
  to: iso(to),
})

/** Service of inference over a period; null where nothing was measured. See docs/reports.md. */
export const ServiceView = z.object({
  requests: z.int(),
  requests_ok: z.int(),
  requests_cancelled: z.int(),
  requests_failed: z.int(),
  requests_refused: z.int(),
  requests_unavailable: z.int(),
  error_percent: figure(z.number().nullable(), 'no request ended in the period'),
  retries: z.int(),
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  cached_percent: figure(z.number().nullable(), 'no prompt tokens were counted in the period'),
  tokens_per_second: figure(z.number().nullable(), 'no completion was timed in the period'),
  mean_duration_ms: figure(z.number().nullable(), 'no request ended in the period'),
  streams: z.int(),
  ttft_mean_ms: figure(z.number().nullable(), 'no streamed answer was timed in the period'),
  ttft_p50_ms: figure(z.number().nullable(), 'no streamed answer was timed in the period'),
  ttft_p95_ms: figure(z.number().nullable(), 'no streamed answer was timed in the period'),
})

export const serviceViewOf = (sums: UsageSums = NO_USAGE): z.input<typeof ServiceView> => {
  const metrics = metricsOf(sums)
  return {
    requests: metrics.requests,
    requests_ok: metrics.ok,
    requests_cancelled: metrics.cancelled,
    requests_failed: metrics.failed,
    requests_refused: metrics.refused,
    requests_unavailable: metrics.unavailable,
    error_percent: metrics.errorPercent,
    retries: metrics.retries,
    prompt_tokens: metrics.promptTokens,
    completion_tokens: metrics.completionTokens,
    cached_percent: metrics.cachedPercent,
    tokens_per_second: metrics.tokensPerSecond,
    mean_duration_ms: metrics.meanDurationMs,
    streams: metrics.streams,
    ttft_mean_ms: metrics.ttftMeanMs,
    ttft_p50_ms: metrics.ttftP50Ms,
    ttft_p95_ms: metrics.ttftP95Ms,
  }
}
