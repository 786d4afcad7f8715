import type { costs } from '../registers/definitions/costs.ts'
import type { RecordOf } from '../registers/register.ts'
import { roundTo, toCents, toEuros } from './money.ts'
import { addMonths, daysBetween } from './months.ts'
import { PERIOD_DAYS } from './usage.ts'

type Cost = RecordOf<typeof costs>

/** True for a single amount that is spread over a useful life. */
const isDepreciable = ({ period, useful_life_months }: Cost): boolean =>
  period === 'once' && useful_life_months !== undefined

/** Monthly share of a cost in cents: its rate today, or a single amount paid in the period. */
export const computeMonthlyCents = (cost: Cost, today: string): number => {
  const { amount_eur, period, started_on, ended_on, useful_life_months: life } = cost
  if (started_on > today || (ended_on !== undefined && ended_on <= today)) return 0
  const cents = toCents(amount_eur)
  if (period === 'monthly') return cents
  if (period === 'yearly') return cents / 12
  if (life === undefined) return daysBetween(started_on, today) < PERIOD_DAYS ? cents : 0
  const isDepreciated = addMonths(started_on, life) <= today
  return isDepreciated ? 0 : Math.max(0, cents - toCents(cost.residual_value_eur ?? 0)) / life
}

/** Tokens and kilowatt-hours of the period. */
interface Consumption {
  tokensByTenant: ReadonlyMap<string, number>
  /** Null where no power was measured. */
  energyKwh: number | null
  /** Null where no price is known. */
  priceEurPerKwh: number | null
}

/**
 * Costs of a month by category and tenant. Costs of one tenant are its own; all others are divided by
 * the tokens of the period.
 */
export const analyseCosts = (all: readonly Cost[], today: string, used: Consumption) => {
  const energyCents =
    used.energyKwh === null || used.priceEurPerKwh === null
      ? 0
      : 100 * used.energyKwh * used.priceEurPerKwh
  const rates = all.map(cost => ({ cost, cents: computeMonthlyCents(cost, today) }))
  const categories = new Map<string, number>()
  for (const { cost, cents } of rates) {
    const name = isDepreciable(cost) ? 'depreciation' : cost.category
    categories.set(name, (categories.get(name) ?? 0) + cents)
  }
  if (energyCents > 0) categories.set('energy', energyCents)
  const tokens = [...used.tokensByTenant.values()].reduce((sum, count) => sum + count, 0)
  const direct = Map.groupBy(rates, ({ cost }) => cost.tenant_id)
  const shared = sumCents(direct.get(undefined)) + energyCents
  const total = sumCents(rates) + energyCents
  // without a record or measured energy, nothing is known of the costs
  const hasCosts = all.length > 0 || energyCents > 0
  const tenants = new Set([
    ...used.tokensByTenant.keys(),
    ...[...direct.keys()].filter(tenant => tenant !== undefined),
  ])
  return {
    total_eur: hasCosts ? toEuros(total) : null,
    shared_eur: hasCosts ? toEuros(shared) : null,
    energy_eur:
      used.energyKwh === null || used.priceEurPerKwh === null ? null : toEuros(energyCents),
    tokens,
    cost_per_1000_tokens_eur:
      tokens === 0 || !hasCosts ? null : roundTo(total / 100 / (tokens / 1000), 4),
    categories: [...categories]
      .map(([category, cents]) => ({ category, cost_eur: toEuros(cents) }))
      .sort((a, b) => b.cost_eur - a.cost_eur),
    tenants: [...tenants].sort().map(tenant => {
      const ownTokens = used.tokensByTenant.get(tenant) ?? 0
      const ownCents = sumCents(direct.get(tenant))
      const sharedCents = tokens === 0 ? 0 : (shared * ownTokens) / tokens
      return {
        tenant_id: tenant,
        tokens: ownTokens,
        direct_eur: hasCosts ? toEuros(ownCents) : null,
        shared_eur: hasCosts ? toEuros(sharedCents) : null,
        cost_eur: hasCosts ? toEuros(ownCents + sharedCents) : null,
      }
    }),
  }
}

const sumCents = (rates: readonly { cents: number }[] = []): number =>
  rates.reduce((sum, { cents }) => sum + cents, 0)
