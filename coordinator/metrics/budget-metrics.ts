import type { Metric } from '../../shared/metrics/metric.ts'
import type { Budgets } from '../budgets/budgets.ts'

/** Metrics of every budget. The label `bound` is `total` or a kind of holder: cell, key, address. */
export const budgetMetrics = ({ list }: Pick<Budgets, 'list'>): Metric[] => [
  {
    name: 'shoal_budget_used',
    type: 'gauge',
    help: 'Amount of a budget in use: by all, and by the largest holder of each kind.',
    labels: ['budget', 'bound'],
    read: () =>
      list.flatMap(({ name, budget }) => [
        { labels: { budget: name, bound: 'total' }, value: budget.used },
        ...[...budget.largest()].map(([bound, value]) => ({
          labels: { budget: name, bound },
          value,
        })),
      ]),
  },
  {
    name: 'shoal_budget_limit',
    type: 'gauge',
    help: 'Upper bound of a budget: for all, and for one holder of each kind.',
    labels: ['budget', 'bound'],
    read: () =>
      list.flatMap(({ name, budget: { limits } }) =>
        [['total', limits.total] as const, ...Object.entries(limits.per)].map(([bound, value]) => ({
          labels: { budget: name, bound },
          value,
        })),
      ),
  },
  {
    name: 'shoal_budget_refusals_total',
    type: 'counter',
    help: 'Refusals because a budget was used up, by the bound that was reached.',
    labels: ['budget', 'bound'],
    read: () =>
      list.flatMap(({ name, budget }) =>
        [...budget.refusals].map(([bound, value]) => ({ labels: { budget: name, bound }, value })),
      ),
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
