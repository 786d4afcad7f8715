import { parseArgs } from 'node:util'
import { playAnswerHistory } from '../support/answer-histories.ts'

/**
 * Histories of requests that end in every way, each with a seed of its own: whatever happens, no
 * byte of memory and no slot of a cell may stay taken.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = {
    histories: { type: 'string', default: '20' },
    rounds: { type: 'string', default: '500' },
    seed: { type: 'string', default: '1' },
  } as const
  const { histories, rounds, seed } = parseArgs({ args: argv, options }).values
  const rows = []
  for (let at = 0; at < Number(histories); at++)
    rows.push({
      seed: Number(seed) + at,
      ...(await playAnswerHistory(Number(seed) + at, Number(rounds))),
    })
  console.table(rows)
  return rows.every(({ heldBytes, takenSlots }) => heldBytes === 0 && takenSlots === 0)
}
