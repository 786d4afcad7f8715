import { scoreHealth } from '../../business/health.ts'
import { dayAt } from '../../business/months.ts'
import type { Subscription } from '../../business/revenue.ts'
import { countOutcomes, readTenantUsage } from '../../business/usage.ts'
import type { Context } from '../../operations/context.ts'
import { scopeOf } from '../../operations/tenant-scope.ts'
import { subscriptions } from '../../registers/definitions/subscriptions.ts'

/**
 * Subscriptions and usage of the tenants that the caller's tenant keeps records of, and of itself.
 * No other tenant is shown.
 */
export const readTenantFacts = async (context: Context) => {
  const scope = scopeOf(context)
  const now = context.now()
  const today = dayAt(now)
  const found = await context.registers.readAll(subscriptions, scope)
  const recent = await readTenantUsage(context.usage, now)
  const before = await readTenantUsage(context.usage, now, 1)
  const byTenant = Map.groupBy(found.records, ({ tenant_id }) => tenant_id)
  const isUsed = recent.has(scope.tenantId) || before.has(scope.tenantId)
  const tenants = [...new Set([...byTenant.keys(), ...(isUsed ? [scope.tenantId] : [])])].sort()
  const healthOf = async (tenantId: string) => {
    const known = (await context.people.tenant(tenantId)) !== undefined
    const counts = {
      recent: countOutcomes(recent.get(tenantId)),
      before: countOutcomes(before.get(tenantId)),
    }
    const own: readonly Subscription[] = byTenant.get(tenantId) ?? []
    return scoreHealth({ tenantId, today, subscriptions: own, usage: known ? counts : undefined })
  }
  return { today, found, tenants, isUsed, recent, byTenant, healthOf }
}
