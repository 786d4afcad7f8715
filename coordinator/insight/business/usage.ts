import { HOUR_MS } from '../../../shared/time.ts'
import { REQUEST_SUMS, type UsageLine, type UsageQuestion } from '../../access/quota/usage-query.ts'
import type { RequestCounts } from './health.ts'

/** Days of one period of usage, energy and costs. */
export const PERIOD_DAYS = 30

interface UsageReader {
  read(question: UsageQuestion): Promise<UsageLine[]>
}

/** Most tenants whose usage is read. */
const MAX_TENANTS = 10_000

/** Reads the usage of each tenant in a period of 30 days that ended `periodsAgo` periods ago. */
export const readTenantUsage = async (
  usage: UsageReader,
  now: number,
  periodsAgo = 0,
): Promise<Map<string, UsageLine>> => {
  const end = Math.ceil((now + 1) / HOUR_MS) * HOUR_MS - periodsAgo * PERIOD_DAYS * 24 * HOUR_MS
  const from = end - PERIOD_DAYS * 24 * HOUR_MS
  const lines = await usage.read({
    ...{ from, to: end, groupBy: ['tenant'], limit: MAX_TENANTS },
    sums: REQUEST_SUMS,
  })
  return new Map(lines.map(line => [String(line.tenant), line]))
}

export const tokensOf = (line: UsageLine | undefined): number =>
  line === undefined ? 0 : line.prompt_tokens + line.completion_tokens

/** Counts succeeded and failed requests; cancelled ones say nothing about the health of a tenant. */
export const countOutcomes = (line: UsageLine | undefined): RequestCounts => ({
  ok: line?.ok ?? 0,
  failed: line?.failed ?? 0,
})
