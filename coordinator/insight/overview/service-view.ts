import * as z from 'zod'
import { iso } from '../../../shared/time.ts'
import type { Period } from '../reports/period.ts'
import { figuresOf, NO_USAGE, type UsageSums } from '../reports/service-figures.ts'

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
  error_percent: z.number().nullable(),
  retries: z.int(),
  prompt_tokens: z.int(),
  completion_tokens: z.int(),
  cached_percent: z.number().nullable(),
  tokens_per_second: z.number().nullable(),
  mean_duration_ms: z.number().nullable(),
  streams: z.int(),
  ttft_mean_ms: z.number().nullable(),
  ttft_p50_ms: z.number().nullable(),
  ttft_p95_ms: z.number().nullable(),
})

export const serviceViewOf = (sums: UsageSums = NO_USAGE): z.input<typeof ServiceView> => {
  const figures = figuresOf(sums)
  return {
    requests: figures.requests,
    requests_ok: figures.ok,
    requests_cancelled: figures.cancelled,
    requests_failed: figures.failed,
    requests_refused: figures.refused,
    requests_unavailable: figures.unavailable,
    error_percent: figures.errorPercent,
    retries: figures.retries,
    prompt_tokens: figures.promptTokens,
    completion_tokens: figures.completionTokens,
    cached_percent: figures.cachedPercent,
    tokens_per_second: figures.tokensPerSecond,
    mean_duration_ms: figures.meanDurationMs,
    streams: figures.streams,
    ttft_mean_ms: figures.ttftMeanMs,
    ttft_p50_ms: figures.ttftP50Ms,
    ttft_p95_ms: figures.ttftP95Ms,
  }
}
