import type { Alert } from '../../fleet/alerts/alert.ts'
import { computePercent, round, type ServiceMetrics } from './service-metrics.ts'

export const INDICATOR_RESULTS = ['pass', 'warn', 'fail', 'unknown'] as const
type IndicatorResult = (typeof INDICATOR_RESULTS)[number]

interface Indicator {
  id: string
  title: string
  /** Null when nothing was measured in the period. */
  value: number | null
  unit: 'percent' | 'count' | 'minutes' | 'retries_per_request'
  /** Number of things that the value was computed from. */
  measured: number
  /** Value up to (or from) which the indicator passes, and beyond which it fails. */
  target: number
  limit: number
  better: 'lower' | 'higher'
  result: IndicatorResult
}

/** What was observed over the period. */
export interface QualityFacts {
  service: ServiceMetrics
  /** Share of streams whose first token took at most 2.5 s. */
  promptPercent: number | null
  calls: number
  failedCalls: number
  /** Jobs of the queue by state. */
  doneJobs: number
  deadJobs: number
  /** Requests at gates that ended in the period, and those of them that expired undecided. */
  endedRequests: number
  expiredRequests: number
  /** Alerts raised in the period. */
  alerts: readonly Pick<Alert, 'raisedAt' | 'clearedAt' | 'acknowledged'>[]
  engines: number
  unreliableEngines: number
}

type Rule = Omit<Indicator, 'result'>

/** Indicators of service quality with their targets; see docs/reports.md. */
export const rateQuality = (facts: QualityFacts): Indicator[] =>
  rulesFor(facts).map(rule => ({ ...rule, result: rate(rule) }))

const rulesFor = (facts: QualityFacts): Rule[] => {
  const { service, alerts } = facts
  const asked = service.requests + service.unavailable
  const delays = alerts.flatMap(({ raisedAt, acknowledged }) =>
    acknowledged === undefined ? [] : [acknowledged.at - raisedAt],
  )
  const jobs = facts.doneJobs + facts.deadJobs
  return [
    {
      ...defineUpperLimit('request_errors', 'Requests that failed or that no cell accepted', 1, 5),
      value: service.errorPercent,
      measured: asked,
    },
    {
      id: 'first_token',
      title: 'Streams with their first token within 2.5 s',
      unit: 'percent',
      target: 95,
      limit: 80,
      better: 'higher',
      value: facts.promptPercent,
      measured: service.streams,
    },
    {
      ...defineUpperLimit('retries', 'Retries on another cell per request', 0.05, 0.5),
      unit: 'retries_per_request',
      value: service.requests === 0 ? null : round(service.retries / service.requests),
      measured: service.requests,
    },
    {
      ...defineUpperLimit('call_errors', 'Calls of skills and operations that failed', 5, 20),
      value: computePercent(facts.failedCalls, facts.calls),
      measured: facts.calls,
    },
    {
      ...defineUpperLimit('dead_jobs', 'Finished jobs that became dead letters', 1, 5),
      value: computePercent(facts.deadJobs, jobs),
      measured: jobs,
    },
    {
      ...defineUpperLimit('expired_requests', 'Approval requests that expired undecided', 10, 50),
      value: computePercent(facts.expiredRequests, facts.endedRequests),
      measured: facts.endedRequests,
    },
    {
      ...defineUpperLimit(
        'time_to_acknowledge',
        'Mean time until an alert is acknowledged',
        15,
        60,
      ),
      unit: 'minutes',
      value: delays.length === 0 ? null : round(sum(delays) / delays.length / 60_000),
      measured: delays.length,
    },
    {
      ...defineUpperLimit(
        'unreliable_engines',
        'Engines that failed lately and are being probed',
        0,
        0,
      ),
      unit: 'count',
      value: facts.engines === 0 ? null : facts.unreliableEngines,
      measured: facts.engines,
    },
  ]
}

const defineUpperLimit = (id: string, title: string, target: number, limit: number) =>
  ({ id, title, unit: 'percent', target, limit, better: 'lower' }) as const

const rate = ({ value, target, limit, better }: Rule): IndicatorResult => {
  if (value === null) return 'unknown'
  const sign = better === 'lower' ? 1 : -1
  if (sign * value <= sign * target) return 'pass'
  return sign * value <= sign * limit ? 'warn' : 'fail'
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)
