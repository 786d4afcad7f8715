import { Transfers } from '../../coordinator/fleet/questions/transfers.ts'
import { Budget } from '../../coordinator/kernel/budgets/budget.ts'

const MIB = 1024 * 1024

/** Memory for answers as the coordinator has it, with bounds of its own. */
export const createAnswerMemory = (
  total = 256 * MIB,
  per = { key: total / 2, cell: total / 4 },
) => ({ budget: new Budget<'key' | 'cell'>({ total, per }), transfers: new Transfers() })
