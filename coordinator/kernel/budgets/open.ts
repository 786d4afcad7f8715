import { totalmem } from 'node:os'
import type { Base } from '../base/base.ts'
import { Budgets } from './budgets.ts'
import { readDescriptorLimit } from './descriptors.ts'
import type { LimitsConfig } from './limits-config.ts'
import { describeLimitTrouble } from './limits-warning.ts'

/** The budgets of the process, for every part that holds memory or sockets on behalf of others. */
export const openBudgets = ({
  config: { limits },
  logger,
}: Pick<Base, 'logger'> & { config: { limits: LimitsConfig } }): { budgets: Budgets } => {
  const budgets = new Budgets(limits, readDescriptorLimit())
  const trouble = describeLimitTrouble(limits, budgets, readMemoryLimit())
  if (trouble !== undefined) logger.warn(trouble)
  return { budgets }
}

/** Bytes of the machine, or of the control group where that has less. */
const readMemoryLimit = (): number => Math.min(process.constrainedMemory() || Infinity, totalmem())
