import t from 'tap'
import type { EnrolledCell } from '../../../coordinator/enrolment/cell.ts'
import { CHECK_IDS, CHECKS, runChecks } from '../../../coordinator/gates/checks.ts'
import type { DecidedRequest } from '../../../coordinator/gates/decided.ts'
import { type GateDefinition, shippedGates } from '../../../coordinator/gates/definition.ts'
import type { GovernanceFacts } from '../../../coordinator/gates/facts.ts'
import { loadPolicy, type Policy, SHIPPED_POLICY_FILE } from '../../../coordinator/gates/policy.ts'
import type { Vote } from '../../../coordinator/gates/request.ts'
import { policyHash } from '../../../coordinator/gates/rules-fault.ts'
import { type Key, OPERATOR_ROLES } from '../../../coordinator/keys/key.ts'

const NOW = 1_800_000_000_000
const DAY_MS = 86_400_000
const gates = shippedGates()
const policy = loadPolicy(SHIPPED_POLICY_FILE, gates)

const key = (personId: string, parts: Partial<Key> = {}): Key => ({
  id: `key-${personId}`,
  tenantId: 'one',
  furtherTenants: [],
  personId,
  tier: 'enterprise',
  roles: ['client', ...OPERATOR_ROLES],
  kind: 'person',
  label: '',
  createdAt: NOW - DAY_MS,
  lastUsedAt: NOW - DAY_MS,
  ...parts,
})
const vote = (personId: string): Vote => ({
  personId,
  keyId: `key-${personId}`,
  roles: ['reviewer'],
  decision: 'approve',
  at: NOW - 2000,
  reason: '',
})
const request: DecidedRequest = {
  id: 'gate_1',
  gateId: 'gate.minor-release-approve',
  policyHash: policyHash(shippedGates()['gate.minor-release-approve'] as GateDefinition),
  requesterId: 'ada',
  state: 'consumed',
  createdAt: NOW - 5000,
  approvalExpiresAt: NOW + 5000,
  consumedAt: NOW - 1000,
  votes: [vote('bob')],
}
const cell: EnrolledCell = {
  id: 'cell_1',
  name: 'one',
  tags: [],
  tokenId: 't',
  enrolledAt: 0,
  renewedAt: 0,
  publicKey: 'k',
  epoch: 1,
}
const people = ['ada', 'bob', 'cyd', 'dan']
const healthy: GovernanceFacts = {
  now: NOW,
  gates,
  policy,
  policyDrift: undefined,
  requests: [request],
  audit: { ok: true, reason: undefined, appendOnly: true, retentionDays: 183, purgedUntil: 0 },
  gateRows: [
    { action: 'gate.approve', subject: 'gate_1', outcome: 'done' },
    { action: 'gate.consumed', subject: 'gate_1', outcome: 'done' },
  ],
  keys: people.map(id => key(id)),
  persons: people.map(id => ({ id, tenantId: 'one', name: id, createdAt: 0 })),
  cells: [cell],
  listens: { loopbackOnly: false, encrypted: true },
}

const omitGate = (id: string) => {
  const { [id]: _, ...rest } = gates
  return rest
}
const changeGate = (id: string, parts: object) => ({ ...gates, [id]: { ...gates[id], ...parts } })
const always = (decision: 'allowed' | 'denied'): Policy => ({
  ...policy,
  decide: () => ({ decision, gateId: undefined, ruleId: undefined, reason: '' }),
})
const withRequest = (parts: Partial<DecidedRequest>) => ({ requests: [{ ...request, ...parts }] })

/** For each check, what breaks it and nothing else it should see. */
const BROKEN: Record<string, Partial<GovernanceFacts>> = {
  'rules-in-force': { gates: omitGate('gate.avv-signature-confirm') as never },
  'dual-approval': {
    gates: changeGate('gate.policy-change', { approvals: [['architect']] }) as never,
  },
  'short-approvals': { gates: changeGate('gate.repair-run', { approval_minutes: 16 }) as never },
  'unsafe-is-gated': { policy: always('allowed') },
  'unknown-is-denied': { policy: always('allowed') },
  'programs-never-approve': { policy: always('allowed') },
  'stop-is-free': { policy: always('denied') },
  'approvers-exist': { keys: [key('ada'), key('bob', { roles: ['client'] })] },
  'requester-apart': withRequest({ votes: [vote('ada'), vote('bob')] }),
  'seats-filled': withRequest({ votes: [] }),
  'used-in-time': withRequest({ consumedAt: NOW + 5000 }),
  'votes-by-people': {
    keys: [...healthy.keys.slice(0, 1), key('bob', { kind: 'ai_agent', expiresAt: NOW + 1 })],
  },
  'audit-whole': { audit: { ...healthy.audit, ok: false, reason: 'row 3 was changed' } },
  'audit-append-only': { audit: { ...healthy.audit, appendOnly: false } },
  'audit-retention': { audit: { ...healthy.audit, retentionDays: 182 } },
  'decisions-audited': { gateRows: healthy.gateRows.slice(1) },
  'keys-have-people': { persons: healthy.persons.slice(1) },
  'program-keys-end': { keys: [...healthy.keys, key('cyd', { id: 'k2', kind: 'ci_pipeline' })] },
  'no-sleeping-operators': { keys: people.map(id => key(id, { lastUsedAt: NOW - 91 * DAY_MS })) },
  'no-demo-in-public': { keys: [...healthy.keys, key('cyd', { tenantId: 'demo' })] },
  'encrypted-off-loopback': { listens: { loopbackOnly: false, encrypted: false } },
  'cells-sign': { cells: [{ ...cell, publicKey: undefined } as unknown as EnrolledCell] },
  'quarantine-looked-at': { cells: [{ ...cell, quarantinedAt: NOW - 2 * DAY_MS }] },
}

t.test('there are 23 governance checks, each with a function', async t => {
  t.equal(CHECKS.length, 23)
  t.strictSame(CHECKS.map(({ id }) => id).toSorted(), CHECK_IDS.toSorted())
  t.strictSame(Object.keys(BROKEN).toSorted(), CHECK_IDS.toSorted())
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
