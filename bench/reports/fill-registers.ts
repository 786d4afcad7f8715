import { costs } from '../../coordinator/insight/registers/definitions/costs.ts'
import { subscriptions } from '../../coordinator/insight/registers/definitions/subscriptions.ts'
import { Registers } from '../../coordinator/insight/registers/registers.ts'
import type { Store } from '../../coordinator/kernel/store/store.ts'
import { systemRuntime } from '../../shared/runtime.ts'
import { TENANT_IDS } from './fill.ts'

const TIERS = ['free', 'pro', 'enterprise'] as const

/** A subscription and costs of every tenant, in the registers of the tenant that asks. */
export const fillRegisters = async (store: Pick<Store, 'ledger'>, now: number): Promise<void> => {
  const registers = new Registers({ runtime: systemRuntime, store, now: () => now })
  const scope = { tenantId: 'demo', by: { actor: 'bench' } }
  const dayOf = (n: number): string => new Date(now - n * 86_400_000).toISOString().slice(0, 10)
  for (const [n, tenant_id] of TENANT_IDS.entries()) {
    const started_on = dayOf(30 + n * 9)
    const paid = { tenant_id, tier: TIERS[n % 3], mrr_eur: (n % 3) * 400, started_on }
    await registers.put(subscriptions, { id: `subscription-${n}`, ...paid }, scope)
    const spent = { category: 'support', amount_eur: 50, period: 'monthly', started_on, tenant_id }
    await registers.put(costs, { id: `cost-${n}`, name: `Support ${n}`, ...spent }, scope)
  }
}
