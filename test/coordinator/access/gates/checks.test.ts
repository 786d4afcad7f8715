import t from 'tap'
import { listChecks, runChecks } from '../../../../coordinator/access/gates/checks.ts'
import type { GovernanceFacts } from '../../../../coordinator/access/gates/facts.ts'
import {
  BROKEN,
  changeGate,
  healthy,
  NOW,
  omitGate,
  request,
  withRequest,
} from '../../../support/governance-facts.ts'

t.test('there are 23 governance checks, each with a case that breaks it', async t => {
  t.equal(listChecks().length, 23)
  t.strictSame(
    listChecks()
      .map(({ id }) => id)
      .toSorted(),
    Object.keys(BROKEN).toSorted(),
  )
})

t.test('every check passes on a healthy setup', async t => {
  t.strictSame(
    runChecks(healthy).filter(({ passed }) => !passed),
    [],
  )
})

for (const [id, parts] of Object.entries(BROKEN))
  t.test(`${id} fails on a violation`, async t => {
    const result = runChecks({ ...healthy, ...parts }).find(check => check.id === id)
    t.match(result, { passed: false, reason: /.+/ })
  })

t.test('past approvals are judged by the rules of their time', async t => {
  const listFailed = (facts: Partial<GovernanceFacts>) =>
    runChecks({ ...healthy, ...facts })
      .filter(({ id, passed }) => id === 'seats-filled' && !passed)
      .map(({ id }) => id)
  const stricter = changeGate(request.gateId, { approvals: [['reviewer'], ['reviewer']] }) as never
  t.strictSame(listFailed({ gates: stricter }), [], 'one person was enough then')
  t.strictSame(listFailed({ gates: omitGate(request.gateId) as never }), [])
  for (const gates of [stricter, omitGate(request.gateId) as never])
    t.strictSame(
      listFailed({ gates, ...withRequest({ votes: [] }) }),
      ['seats-filled'],
      'nobody is not',
    )
})

t.test('no check of requests passes while one cannot be read', t => {
  const failed = runChecks({ ...healthy, unreadableRequests: ['gate_2'] })
    .filter(({ passed }) => !passed)
    .map(({ reason }) => reason)
  t.strictSame([failed.length, ...new Set(failed)], [5, 'requests that cannot be read: gate_2'])
  t.end()
})

t.test('a decision whose audit row was purged in due time needs none', async t => {
  const audit = { ...healthy.audit, purgedUntil: NOW - 1000 }
  const failed = runChecks({ ...healthy, gateRows: [], audit }).filter(({ passed }) => !passed)
  t.strictSame(failed, [])
  const half = { ...healthy.audit, purgedUntil: NOW - 1500 }
  const result = runChecks({ ...healthy, gateRows: [], audit: half })
  t.match(
    result.find(({ id }) => id === 'decisions-audited'),
    { passed: false },
  )
})
