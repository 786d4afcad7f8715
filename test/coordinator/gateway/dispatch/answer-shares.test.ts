import t from 'tap'
import { playAnswerHistory } from '../../../support/answer-histories.ts'

/** Histories that are played at most; on a busy machine one may stay below every bound. */
const SEEDS = [7, 8, 9, 10]

t.test('every byte and slot is given back, however requests end', async t => {
  let refused = 0
  for (const seed of SEEDS) {
    const { heldBytes, takenSlots, refusals } = await playAnswerHistory(seed, 200)
    t.strictSame([heldBytes, takenSlots], [0, 0], `history ${seed}`)
    refused += refusals
    if (refused > 0) break
  }
  t.ok(refused > 0, 'bounds were reached')
})
