import { addDays, daysBetween } from './months.ts'
import { listStandings, type Subscription } from './revenue.ts'

/** Requests of a tenant in 30 days. */
export interface RequestCounts {
  ok: number
  failed: number
}

interface HealthFacts {
  tenantId: string
  today: string
  /** Subscriptions of the tenant. */
  subscriptions: readonly Subscription[]
  /** Undefined for a tenant that this service does not know. */
  usage: { recent: RequestCounts; before: RequestCounts } | undefined
}

interface HealthReason {
  code: string
  /** Points that the reason takes from 100. */
  points: number
  message: string
}

/** Requests below which the share of errors means nothing. */
const MIN_REQUESTS = 20
const SOON_DAYS = 30
const CHANGE_DAYS = 90

/**
 * Score of a tenant: 100 less the points of every reason, at least 0. A tenant without usage has
 * reasons and no score: its subscription alone does not show that the service works for it.
 */
export const scoreHealth = (facts: HealthFacts) => {
  const reasons = [...listSubscriptionReasons(facts), ...listUsageReasons(facts)]
  if (!hasUsage(facts)) return { score: null, level: null, reasons }
  const score = Math.max(
    0,
    reasons.reduce((left, { points }) => left - points, 100),
  )
  return { score, level: levelOf(score), reasons }
}

export const HEALTH_LEVELS = ['healthy', 'watch', 'at_risk'] as const

const hasUsage = ({ usage }: HealthFacts): boolean =>
  usage !== undefined && [usage.recent, usage.before].some(({ ok, failed }) => ok + failed > 0)

const levelOf = (score: number): (typeof HEALTH_LEVELS)[number] => {
  if (score >= 80) return 'healthy'
  return score >= 50 ? 'watch' : 'at_risk'
}

const listSubscriptionReasons = ({
  tenantId,
  today,
  subscriptions,
}: HealthFacts): HealthReason[] => {
  if (subscriptions.length === 0) return []
  const now = listStandings(subscriptions, today).get(tenantId)
  if (now === undefined)
    return [{ code: 'subscription_ended', points: 60, message: 'no subscription is active' }]
  const reasons: HealthReason[] = []
  const soon = listStandings(subscriptions, addDays(today, SOON_DAYS)).get(tenantId)
  if (soon === undefined)
    reasons.push({
      code: 'subscription_ending',
      points: 30,
      message: `the subscription ends within ${SOON_DAYS} days`,
    })
  const before = listStandings(subscriptions, addDays(today, -CHANGE_DAYS)).get(tenantId)
  if (before !== undefined && before.cents > now.cents)
    reasons.push({
      code: 'revenue_contracted',
      points: 15,
      message: `monthly revenue fell from ${before.cents / 100} to ${now.cents / 100} EUR within ${CHANGE_DAYS} days`,
    })
  return reasons
}

const listUsageReasons = ({ usage, subscriptions, today }: HealthFacts): HealthReason[] => {
  if (usage === undefined) return []
  const { recent, before } = usage
  const [requests, earlier] = [recent.ok + recent.failed, before.ok + before.failed]
  const isNew = subscriptions.every(({ started_on }) => daysBetween(started_on, today) < SOON_DAYS)
  if (requests === 0)
    return earlier === 0 && isNew
      ? []
      : [{ code: 'unused', points: 30, message: 'no requests in the last 30 days' }]
  return [...listErrorReasons(recent), ...listTrendReasons(requests, earlier)]
}

const listErrorReasons = ({ ok, failed }: RequestCounts): HealthReason[] => {
  const percent = (100 * failed) / (ok + failed)
  if (ok + failed < MIN_REQUESTS || percent <= 1) return []
  const message = `${percent.toFixed(1)} percent of the requests of the last 30 days failed`
  return [{ code: 'errors', points: percent > 5 ? 30 : 10, message }]
}

const listTrendReasons = (requests: number, earlier: number): HealthReason[] => {
  if (earlier < MIN_REQUESTS || requests >= 0.8 * earlier) return []
  const message = `${requests} requests in the last 30 days, ${earlier} in the 30 days before`
  return [{ code: 'usage_falls', points: requests < 0.5 * earlier ? 25 : 10, message }]
}
