import t from 'tap'
import { playAnswerHistory } from '../../../support/answer-histories.ts'

t.test('every byte and slot is given back, however requests end', async t => {
  const { heldBytes, takenSlots, refusals } = await playAnswerHistory(7, 200)
  t.equal(heldBytes, 0)
  t.equal(takenSlots, 0)
  t.ok(refusals > 0, 'bounds were reached')
})
