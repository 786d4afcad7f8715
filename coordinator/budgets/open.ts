import { Budgets } from './budgets.ts'
import { readDescriptorLimit } from './descriptors.ts'
import type { LimitsConfig } from './limits-config.ts'

/** The budgets of the process, for every part that holds memory or sockets on behalf of others. */
export const openBudgets = ({
  config,
}: {
  config: { limits: LimitsConfig }
}): {
  budgets: Budgets
} => ({ budgets: new Budgets(config.limits, readDescriptorLimit()) })
