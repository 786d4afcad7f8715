import { TIER_NAMES } from '../../../shared/catalogue.ts'
import type { subscriptions } from '../registers/definitions/subscriptions.ts'
import type { RecordOf } from '../registers/register.ts'
import { percentOf, toCents, toEuros } from './money.ts'
import { addDays, addMonths, listMonths, monthOf } from './months.ts'

export type Subscription = RecordOf<typeof subscriptions>
type Tier = Subscription['tier']

/** Subscription of one tenant on one day; of several ones the revenue is the sum. */
interface Standing {
  cents: number
  /** Tier of the subscription with the highest price. */
  tier: Tier
}
type Standings = ReadonlyMap<string, Standing>

const isActive = ({ started_on, ended_on }: Subscription, day: string): boolean =>
  started_on <= day && (ended_on === undefined || ended_on > day)

/** Tenants with an active subscription on a day, also free ones. */
export const listStandings = (all: readonly Subscription[], day: string): Standings =>
  sumStandings(sortByPrice(all), day)

const sortByPrice = (all: readonly Subscription[]): Subscription[] =>
  all.toSorted((a, b) => b.mrr_eur - a.mrr_eur)

/** Standings on a day from subscriptions with the highest price first. */
const sumStandings = (sorted: readonly Subscription[], day: string): Standings => {
  const standings = new Map<string, Standing>()
  for (const each of sorted) {
    if (!isActive(each, day)) continue
    const { tenant_id, tier, mrr_eur } = each
    const before = standings.get(tenant_id)
    const cents = toCents(mrr_eur) + (before?.cents ?? 0)
    standings.set(tenant_id, { cents, tier: before?.tier ?? tier })
  }
  return standings
}

/** Movement of revenue between the ends of two months, in cents; `start + ... = end`. */
interface Movement {
  start: number
  fresh: number
  reactivation: number
  expansion: number
  contraction: number
  churn: number
  end: number
}

const NO_MOVEMENT: Movement = {
  start: 0,
  fresh: 0,
  reactivation: 0,
  expansion: 0,
  contraction: 0,
  churn: 0,
  end: 0,
}

/** Movement of the revenue of one tenant. */
const moveTenant = (start: number, end: number, paidEarlier: boolean): Movement => {
  const change = end - start
  if (start === 0) return { ...NO_MOVEMENT, end, [paidEarlier ? 'reactivation' : 'fresh']: end }
  if (end === 0) return { ...NO_MOVEMENT, start, churn: start }
  return {
    ...NO_MOVEMENT,
    start,
    end,
    [change > 0 ? 'expansion' : 'contraction']: Math.abs(change),
  }
}

const addMovements = (movements: readonly Movement[]): Movement => {
  const sum = { ...NO_MOVEMENT }
  for (const each of movements)
    for (const name of Object.keys(sum) as (keyof Movement)[]) sum[name] += each[name]
  return sum
}

const viewMovement = (movement: Movement) => ({
  start_mrr_eur: toEuros(movement.start),
  new_mrr_eur: toEuros(movement.fresh),
  reactivation_mrr_eur: toEuros(movement.reactivation),
  expansion_mrr_eur: toEuros(movement.expansion),
  contraction_mrr_eur: toEuros(movement.contraction),
  churned_mrr_eur: toEuros(movement.churn),
  end_mrr_eur: toEuros(movement.end),
  net_revenue_retention_percent: percentOf(
    movement.start + movement.expansion - movement.contraction - movement.churn,
    movement.start,
  ),
})

/** Last day of a month; today in the current month. */
const lastDayOf = (month: string, today: string): string => {
  const last = addDays(addMonths(month, 1), -1)
  return last < today ? last : today
}

/**
 * Monthly and annual recurring revenue as of a day, and its movement over the last months. A tenant
 * counts in the tier that it had at the start of a month, a new one in its first tier.
 */
export const analyseRevenue = (
  all: readonly Subscription[],
  { today, months: count }: { today: string; months: number },
) => {
  const current = monthOf(today)
  const months = listMonths(addMonths(current, 1 - count), current)
  const standingsOn = rememberDays(all)
  const now = standingsOn(today)
  const firstPaid = findFirstPaidDays(all)
  if (all.length === 0) return NO_REVENUE
  return {
    ...revenueOf([...now.values()]),
    net_revenue_retention_12_months_percent: retentionOf(
      standingsOn(lastDayOf(addMonths(current, -12), today)),
      now,
    ),
    tiers: TIER_NAMES.map(tier => ({
      tier,
      ...revenueOf([...now.values()].filter(standing => standing.tier === tier)),
    })),
    months: months.map(month => analyseMonth(standingsOn, firstPaid, month, today)),
  }
}

/** Analysis of a register without records: nothing is known of the revenue. */
const NO_REVENUE = {
  ...{ tenants: 0, paying_tenants: 0, mrr_eur: null, arr_eur: null },
  ...{ net_revenue_retention_12_months_percent: null, tiers: [], months: [] },
}

/** Standings by day, each counted once: the end of a month is the start of the next one. */
const rememberDays = (all: readonly Subscription[]): ((day: string) => Standings) => {
  const sorted = sortByPrice(all)
  const known = new Map<string, Standings>()
  return day => {
    const standings = known.get(day) ?? sumStandings(sorted, day)
    known.set(day, standings)
    return standings
  }
}

const revenueOf = (standings: readonly Standing[]) => {
  const cents = standings.reduce((sum, standing) => sum + standing.cents, 0)
  return {
    tenants: standings.length,
    paying_tenants: standings.filter(standing => standing.cents > 0).length,
    mrr_eur: toEuros(cents),
    arr_eur: toEuros(12 * cents),
  }
}

/** Revenue of today from the tenants of an earlier day, in percent of theirs then. */
const retentionOf = (before: Standings, now: Standings): number | null => {
  const paying = [...before].filter(([, { cents }]) => cents > 0)
  const then = paying.reduce((sum, [, { cents }]) => sum + cents, 0)
  const kept = paying.reduce((sum, [tenant]) => sum + (now.get(tenant)?.cents ?? 0), 0)
  return percentOf(kept, then)
}

/** First day on which each tenant paid; a subscription that ends before it starts was never paid. */
const findFirstPaidDays = (all: readonly Subscription[]): ReadonlyMap<string, string> => {
  const days = new Map<string, string>()
  for (const each of all) {
    const before = days.get(each.tenant_id)
    if (each.mrr_eur === 0 || !isActive(each, each.started_on)) continue
    if (before === undefined || each.started_on < before) days.set(each.tenant_id, each.started_on)
  }
  return days
}

const analyseMonth = (
  standingsOn: (day: string) => Standings,
  firstPaid: ReadonlyMap<string, string>,
  month: string,
  today: string,
) => {
  const start = standingsOn(lastDayOf(addMonths(month, -1), today))
  const end = standingsOn(lastDayOf(month, today))
  const tenants = new Set([...start.keys(), ...end.keys()])
  const moved = [...tenants].map(tenant => {
    const [before, after] = [start.get(tenant), end.get(tenant)]
    const paidEarlier = (firstPaid.get(tenant) ?? month) < month
    return {
      tier: (before ?? after)?.tier,
      movement: moveTenant(before?.cents ?? 0, after?.cents ?? 0, paidEarlier),
    }
  })
  return {
    month: month.slice(0, 7),
    ...viewMovement(addMovements(moved.map(({ movement }) => movement))),
    tiers: TIER_NAMES.map(tier => ({
      tier,
      ...viewMovement(
        addMovements(moved.filter(each => each.tier === tier).map(({ movement }) => movement)),
      ),
    })),
  }
}
