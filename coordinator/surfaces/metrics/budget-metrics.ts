import type { Metric } from '../../../shared/metrics/metric.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'

/** Metrics of every budget. The label `bound` is `total` or a kind of holder: cell, key, address. */
export const budgetMetrics = ({ list }: Pick<Budgets, 'list'>): Metric[] => [
  {
    name: 'shoal_budget_used',
    type: 'gauge',
    help: 'Amount of a budget in use: by all, and by the largest holder of each kind.',
    labels: ['budget', 'bound'],
    read: () =>
      list.flatMap(({ name, budget }) =>
        labelBounds(name, [['total', budget.used], ...budget.largest()]),
      ),
  },
  {
    name: 'shoal_budget_limit',
    type: 'gauge',
    help: 'Upper bound of a budget: for all, and for one holder of each kind.',
    labels: ['budget', 'bound'],
    read: () =>
      list.flatMap(({ name, budget: { limits } }) =>
        labelBounds(name, [['total', limits.total], ...Object.entries(limits.per)]),
      ),
  },
  {
    name: 'shoal_budget_refusals_total',
    type: 'counter',
    help: 'Refusals because a budget was used up, by the bound that was reached.',
    labels: ['budget', 'bound'],
    read: () => list.flatMap(({ name, budget }) => labelBounds(name, [...budget.refusals])),
  },
  {
    name: 'shoal_budget_reclaims_total',
    type: 'counter',
    help: 'Shares of the largest holder that were ended in favour of smaller ones.',
    labels: ['budget'],
    read: () =>
      list.map(({ name, budget }) => ({ labels: { budget: name }, value: budget.reclaimed })),
  },
]

/** Converts amounts by bound to the values of a metric. */
const labelBounds = (budget: string, amounts: readonly (readonly [string, number])[]) =>
  amounts.map(([bound, value]) => ({ labels: { budget, bound }, value }))
