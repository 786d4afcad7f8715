import type { Base } from '../../kernel/base/base.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'
import { Simulations } from './simulations.ts'

/** Simulations of project schedules; the rest of planning is computed in the call. */
export interface PlanningViews {
  simulations: Pick<Simulations, 'run'>
}

export const openPlanning = ({
  stack,
  budgets,
}: Pick<Base, 'stack'> & { budgets: Pick<Budgets, 'simulations'> }): { views: PlanningViews } => ({
  views: { simulations: stack.use(new Simulations(budgets.simulations)) },
})
