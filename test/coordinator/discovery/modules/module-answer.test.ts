import t from 'tap'
import {
  toLookupAnswer,
  toScanAnswer,
} from '../../../../coordinator/discovery/modules/operations/module-answer.ts'

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

t.test('what is missing of a list is named once, however much it is', async t => {
  const cell = {
    available: false,
    reason: 'no radio',
    rows: [],
    takenAt: 0,
    elapsedMs: null,
    warnings: [],
  }
  t.match(toScanAnswer(['a', 'b', 'c'].map(cellId => ({ ...cell, cellId }))), {
    unknown: [{ field: 'findings', reason: 'cell a: no radio; and 2 more' }],
  })
  const warnings = (['licence_restricted', 'partial_result', 'stale_data'] as const).map(code => ({
    ...{ code, message: code },
  }))
  t.match(toLookupAnswer({ data: { a: 1 }, sources: [], warnings, takenAt: 0 }), {
    unknown: [{ field: 'data', reason: 'partial_result; and 1 more' }],
  })
})
