import { HOUR_MS } from '../quota/usage-buckets.ts'
import { REQUEST_SUMS, type UsageLine, type UsageQuestion } from '../quota/usage-query.ts'
import type { RequestCounts } from './health.ts'

/** Days of one period of usage. */
export const USAGE_DAYS = 30

export interface UsageReader {
  read(question: UsageQuestion): Promise<UsageLine[]>
}

/** Most tenants whose usage is read at once. */
const MAX_TENANTS = 10_000

/** Usage of each tenant in a period of 30 days that ended so many periods ago. */
export const readTenantUsage = async (
  usage: UsageReader,
  now: number,
  periodsAgo = 0,
): Promise<Map<string, UsageLine>> => {
  const end = Math.ceil((now + 1) / HOUR_MS) * HOUR_MS - periodsAgo * USAGE_DAYS * 24 * HOUR_MS
  const from = end - USAGE_DAYS * 24 * HOUR_MS
  const lines = await usage.read({
    ...{ from, to: end, groupBy: ['tenant'], limit: MAX_TENANTS },
    sums: REQUEST_SUMS,
  })
  return new Map(lines.map(line => [String(line.tenant), line]))
}

export const tokensOf = (line: UsageLine | undefined): number =>
  line === undefined ? 0 : line.prompt_tokens + line.completion_tokens

/** Requests that succeeded or failed; those that a client cancelled say nothing about health. */
export const countRequests = (line: UsageLine | undefined): RequestCounts => ({
  ok: line?.ok ?? 0,
  failed: line?.failed ?? 0,
})
