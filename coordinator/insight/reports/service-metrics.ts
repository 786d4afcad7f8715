import { USAGE_SUMS, type UsageSum } from '../../access/quota/usage-buckets.ts'
import { countRequests } from '../../access/quota/usage-query.ts'

/** Service of inference over a period. Means and percentages are null where nothing was measured. */
export interface ServiceMetrics {
  /** Requests that reached a model: ok, cancelled by their client, or failed. */
  requests: number
  ok: number
  cancelled: number
  failed: number
  /** Requests refused by a limit or as invalid; they never reached a model. */
  refused: number
  /** Requests that no cell accepted. */
  unavailable: number
  /** Share of failed and unavailable requests, of all requests except the refused ones. */
  errorPercent: number | null
  /** Attempts on cells that did not answer the request. */
  retries: number
  promptTokens: number
  completionTokens: number
  /** Prompt tokens that were still in an engine's cache. */
  cachedPercent: number | null
  /** Generated tokens per second of the requests that generated any; null where none did. */
  tokensPerSecond: number | null
  meanDurationMs: number | null
  /** Streams with a first token; the three fields below cover them. */
  streams: number
  ttftMeanMs: number | null
  ttftP50Ms: number | null
  ttftP95Ms: number | null
}

export type UsageSums = Record<UsageSum, number>

/** Sums of a period without usage. */
export const NO_USAGE = Object.freeze(
  Object.fromEntries(USAGE_SUMS.map(name => [name, 0])),
) as UsageSums

export const metricsOf = (sums: UsageSums): ServiceMetrics => {
  const { ok, cancelled, failed, refused, unavailable, retries } = sums
  const requests = countRequests(sums)
  const { prompt_tokens, cached_tokens, completion_tokens, ttft_count } = sums
  return {
    requests,
    ok,
    cancelled,
    failed,
    refused,
    unavailable,
    errorPercent: computePercent(failed + unavailable, requests + unavailable),
    retries,
    promptTokens: prompt_tokens,
    completionTokens: completion_tokens,
    cachedPercent: computePercent(cached_tokens, prompt_tokens),
    tokensPerSecond: ratio(completion_tokens * 1000, sums.generation_ms),
    meanDurationMs: ratio(sums.duration_ms, requests),
    streams: ttft_count,
    ttftMeanMs: ratio(sums.ttft_ms, ttft_count),
    ttftP50Ms: estimateTtft(sums, 50),
    ttftP95Ms: estimateTtft(sums, 95),
  }
}

const BOUNDS_MS = [100, 250, 500, 1000, 2500, 5000, 10_000, 30_000] as const
const LAST_BOUND_MS = 30_000

/**
 * Estimates a percentile of the time to first token from its histogram, by linear interpolation
 * between two bounds. A percentile above the last bound is reported as that bound, 30 s.
 */
const estimateTtft = (sums: UsageSums, percentile: number): number | null => {
  const rank = (percentile / 100) * sums.ttft_count
  if (rank === 0) return null
  let [belowMs, below] = [0, 0]
  for (const boundMs of BOUNDS_MS) {
    const count = sums[`ttft_le_${boundMs}`]
    if (count >= rank)
      return round(belowMs + ((boundMs - belowMs) * (rank - below)) / (count - below))
    belowMs = boundMs
    below = count
  }
  return LAST_BOUND_MS
}

/** Share of streams, in percent, whose first token took at most `boundMs`; null without a stream. */
export const computePercentWithin = (sums: UsageSums, boundMs: (typeof BOUNDS_MS)[number]) =>
  computePercent(sums[`ttft_le_${boundMs}`], sums.ttft_count)

/** Change of a figure in percent; null unless both values are known and the earlier one is not 0. */
export const computeChangePercent = (now: number | null, before: number | null): number | null =>
  now === null || before === null || before === 0 ? null : round((100 * (now - before)) / before)

export const computeDifference = (now: number | null, before: number | null): number | null =>
  now === null || before === null ? null : round(now - before)

/** `100 * part / whole`, rounded to a hundredth; null where there is no whole. */
export const computePercent = (part: number, whole: number): number | null =>
  ratio(100 * part, whole)

const ratio = (part: number, whole: number): number | null =>
  whole === 0 ? null : round(part / whole)

/** Rounds to a hundredth. */
export const round = (value: number): number => Math.round(value * 100) / 100
