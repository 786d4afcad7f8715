import { actsFor } from '../../../access/keys/key.ts'
import type { PeopleViews } from '../../../access/people/open.ts'
import type { QuotaViews } from '../../../access/quota/open.ts'
import { countRequests } from '../../../access/quota/usage-query.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { scopeOf } from '../../../kernel/declaration/tenant-scope.ts'
import { subscriptions } from '../../registers/definitions/subscriptions.ts'
import type { RegisterViews } from '../../registers/open.ts'
import { scoreHealth } from '../health.ts'
import { dayAt } from '../months.ts'
import { countOutcomes, readTenantUsage, tokensOf } from '../usage.ts'

/**
 * Usage of the tenants that the caller's key may act for, by tenant. A record gives no right to the
 * usage of the tenant that it names, because any operator may write one.
 */
export const readVisibleUsage = async (
  { usage, key }: Pick<Context, 'key'> & Pick<QuotaViews, 'usage'>,
  now: number,
  periodsAgo = 0,
): ReturnType<typeof readTenantUsage> => {
  const lines = await readTenantUsage(usage, now, periodsAgo)
  return new Map([...lines].filter(([tenant]) => key !== undefined && actsFor(key, tenant)))
}

/**
 * Subscriptions of the tenants that the caller's tenant keeps records of, and usage of those that
 * its key may act for. No other tenant is shown.
 */
export const readTenantFacts = async (
  context: Context & PeopleViews & QuotaViews & RegisterViews,
) => {
  const scope = scopeOf(context)
  const now = context.now()
  const today = dayAt(now)
  const found = await context.registers.readAll(subscriptions, scope)
  const recent = await readVisibleUsage(context, now)
  const before = await readVisibleUsage(context, now, 1)
  const byTenant = Map.groupBy(found.records, ({ tenant_id }) => tenant_id)
  const isUsed = recent.has(scope.tenantId) || before.has(scope.tenantId)
  const tenants = [...new Set([...byTenant.keys(), ...(isUsed ? [scope.tenantId] : [])])].sort()
  /** Undefined where nothing can be known: the tenant is not of this service, or not the key's. */
  const usageOf = async (tenantId: string) => {
    const { key, people } = context
    const isVisible = key !== undefined && actsFor(key, tenantId)
    if (!isVisible || (await people.tenant(tenantId)) === undefined) return undefined
    const line = recent.get(tenantId)
    return {
      requests: line === undefined ? 0 : countRequests(line),
      tokens: tokensOf(line),
      recent: countOutcomes(line),
      before: countOutcomes(before.get(tenantId)),
    }
  }
  const healthOf = async (tenantId: string) =>
    scoreHealth({
      ...{ tenantId, today, subscriptions: byTenant.get(tenantId) ?? [] },
      usage: await usageOf(tenantId),
    })
  return { today, found, tenants, isUsed, byTenant, usageOf, healthOf }
}
