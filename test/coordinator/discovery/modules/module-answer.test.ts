import t from 'tap'
import { toLookupAnswer } from '../../../../coordinator/discovery/modules/operations/module-answer.ts'

const stateOf = (data: unknown): unknown => {
  const result = { data, sources: [], warnings: [], takenAt: 0 }
  return (toLookupAnswer(result) as { data_state: string }).data_state
}

t.test('a lookup that found nothing but errors is empty', async t => {
  const reached = { repo: 'a/b', error: null }
  const failed = { repo: 'a/c', error: 'no answer within 10 s' }
  t.equal(stateOf({ repos: [failed, failed], rate: null }), 'empty')
  t.equal(stateOf({ repos: [reached, failed], rate: null }), 'live')
  t.equal(stateOf({ repos: [] }), 'empty')
  t.equal(stateOf({ latitude: 1 }), 'live')
})
