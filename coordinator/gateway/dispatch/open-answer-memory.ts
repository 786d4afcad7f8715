import type { AnswerMemory } from '../../fleet/questions/answer-hold.ts'
import { SWEEP_SECONDS, Transfers } from '../../fleet/questions/transfers.ts'
import type { Base } from '../../kernel/base/base.ts'
import type { Budgets } from '../../kernel/budgets/budgets.ts'

/** The memory of all answers in this process, and the sweep that ends those without progress. */
export const openAnswerMemory = ({
  budgets,
  schedules,
}: Pick<Base, 'schedules'> & { budgets: Pick<Budgets, 'heldAnswers'> }): {
  answerMemory: AnswerMemory
} => {
  const transfers = new Transfers()
  schedules.every('fleet.transfers', SWEEP_SECONDS, async () => transfers.sweep())
  return { answerMemory: { budget: budgets.heldAnswers, transfers } }
}
