import t from 'tap'
import {
  analyseCosts,
  computeMonthlyCents,
} from '../../../../coordinator/insight/business/costs.ts'
import { analyseRecruitment } from '../../../../coordinator/insight/business/recruitment.ts'
import {
  analyseRevenue,
  type Subscription,
} from '../../../../coordinator/insight/business/revenue.ts'

type Cost = Parameters<typeof computeMonthlyCents>[0]

const TODAY = '2026-11-20'

const subscription = (id: string, more: Partial<Subscription> = {}): Subscription => ({
  id,
  tenant_id: id,
  tier: 'free',
  mrr_eur: 0,
  started_on: '2025-01-01',
  ...more,
})

t.test(
  'the work of a revenue analysis grows with the subscriptions, not with their square',
  async t => {
    const countReads = (tenants: number): number => {
      let reads = 0
      const all = Array.from({ length: tenants }, (_, i) =>
        Object.defineProperty(subscription(`t${i}`), 'tenant_id', {
          get: () => {
            reads++
            return `t${i}`
          },
        }),
      )
      analyseRevenue(all, { today: TODAY, months: 12 })
      return reads
    }
    t.ok(countReads(400) < 3 * countReads(200))
    t.ok(countReads(200) < 20 * 200, 'and the end of each month is counted once')
  },
)

t.test('a subscription that never ran makes no tenant a returning one', async t => {
  const { months } = analyseRevenue(
    [
      subscription('void', { tenant_id: 'a', mrr_eur: 5, ended_on: '2024-12-31' }),
      subscription('first', { tenant_id: 'a', mrr_eur: 10, started_on: '2026-11-02' }),
    ],
    { today: TODAY, months: 1 },
  )
  t.match(months, [{ new_mrr_eur: 10, reactivation_mrr_eur: 0 }])
})

const cost = (more: Partial<Cost>): Cost => ({
  id: 'c',
  category: 'hardware',
  name: 'Rack',
  amount_eur: 100,
  period: 'once',
  started_on: '2026-01-31',
  ...more,
})

t.test('a month of a useful life ends within the next month, however short it is', async t => {
  const bought = cost({ useful_life_months: 1 })
  t.equal(computeMonthlyCents(bought, '2026-02-27'), 10_000)
  t.equal(computeMonthlyCents(bought, '2026-02-28'), 0)
})

t.test('a residual value above the price costs nothing, and earns nothing', async t => {
  const odd = cost({ useful_life_months: 12, residual_value_eur: 1000 })
  t.equal(computeMonthlyCents(odd, '2026-02-01'), 0)
})

t.test('only a single amount with a useful life is a depreciation', async t => {
  const used = { tokensByTenant: new Map(), tokens: 0, energyKwh: null, priceEurPerKwh: null }
  const rent = cost({ category: 'hosting', period: 'monthly', useful_life_months: 12 })
  const { categories } = analyseCosts([rent], TODAY, used)
  t.strictSame(categories, [{ category: 'hosting', cost_eur: 100 }])
})

t.test('stages of candidates count from their day on', async t => {
  const candidate = { id: 'c-1', name: 'Mira', position: 'Engineer', applied_on: '2026-11-01' }
  const hired = { screening_on: '2026-11-10', offer_on: '2026-11-21', hired_on: '2026-12-01' }
  const analyse = (...all: Parameters<typeof analyseRecruitment>[0]) =>
    analyseRecruitment(all, TODAY)
  const planned = analyse({ ...candidate, ...hired })
  t.match(planned, { candidates: 1, open: 1, hired: 0, median_days_to_hire: null })
  const [, screening, , offer] = planned.stages
  t.match(screening, { entered: 1, advanced: 0, open: 1, median_days: null })
  t.match(offer, { entered: 0 })
  t.match(analyse({ ...candidate, applied_on: '2026-11-21' }), { candidates: 0 })
  const closing = { closed_on: '2026-11-21', closed_as: 'rejected' } as const
  t.match(analyse({ ...candidate, ...closing }), { open: 1, rejected: 0 })
  t.match(analyse({ ...candidate, ...closing, closed_on: TODAY }), { open: 0, rejected: 1 })
  t.match(analyse({ ...candidate, hired_on: TODAY }), { hired: 1 })
})
