import t from 'tap'
import { filterOf } from '../../../../coordinator/kernel/audit/operations/audit-view.ts'

t.test('the audit query accepts only one start time', async t => {
  const now = Date.UTC(2026, 10, 20)
  t.strictSame(filterOf({ last: '1h' }, now), { from: now - 3_600_000 })
  t.strictSame(filterOf({ since: '2026-11-19T00:00:00Z' }, now), { from: now - 86_400_000 })
  t.throws(() => filterOf({ last: '1h', since: '1d' }, now), {
    code: 'invalid_request',
    param: 'last',
  })
})
