import { Budget } from '../../coordinator/budgets/budget.ts'
import { Transfers } from '../../coordinator/fleet/transfers.ts'

const MIB = 1024 * 1024

/** Memory for answers as the coordinator has it, with a total of its own. */
export const createAnswerMemory = (total = 256 * MIB) => ({
  budget: new Budget<'key' | 'cell'>({ total, per: { key: total / 2, cell: total / 4 } }),
  transfers: new Transfers(),
})
