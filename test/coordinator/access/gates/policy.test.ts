import t from 'tap'
import { loadShippedGates } from '../../../../coordinator/access/gates/definition.ts'
import {
  loadPolicy,
  policyOf,
  SHIPPED_POLICY_FILE,
} from '../../../../coordinator/access/gates/policy.ts'

const gates = loadShippedGates()
const rule = { id: 'r', actions: ['a.*'], decision: 'allowed', reason: 'may' }
const passing = { action_type: 'a.b', expect: 'allowed' }
const document = (parts: object) => ({ version: '1', rules: [rule], tests: [passing], ...parts })

t.test('the shipped boundary passes its own tests', async t => {
  const policy = loadPolicy(SHIPPED_POLICY_FILE, gates)
  const admin = { kind: 'person', roles: ['operator_admin'] } as const
  t.match(policy.decide('release.major', admin), {
    decision: 'needs_gate',
    gateId: 'gate.major-release-approve',
    ruleId: 'major-release',
  })
  t.match(policy.decide('nothing.known', admin), { decision: 'denied', ruleId: undefined })
  t.match(policy.decide('device.command.unsafe', admin, { __proto__: { dry_run: true } }), {
    decision: 'needs_gate',
  })
})

t.test('a boundary that fails its tests is not loaded', async t => {
  for (const [what, parts, message] of [
    [
      'a failing test',
      { tests: [{ ...passing, expect: 'denied' }] },
      /a\.b by person .* is allowed/,
    ],
    ['no tests', { tests: [] }, /tests/],
    ['a gate that there is not', { rules: [{ ...rule, gate: 'gate.none' }] }, /no gate\.none/],
    ['a gate that is not named', { rules: [{ ...rule, decision: 'needs_gate' }] }, /names no gate/],
    ['a word nobody knows', { rules: [{ ...rule, if: 1 }] }, /rules/],
    ['a pattern with a star inside', { rules: [{ ...rule, actions: ['a.*.b'] }] }, /actions/],
  ] as const)
    t.throws(() => policyOf(document(parts), gates), { code: 'config_invalid', message }, what)
  t.throws(() => loadPolicy('/nowhere/policy.yaml', gates), { code: 'config_invalid' })
})

t.test('the first matching rule decides', async t => {
  const rules = [
    { ...rule, id: 'agents', kinds: ['ai_agent'], decision: 'denied' },
    { ...rule, id: 'dry', when: { dry_run: true } },
    { ...rule, id: 'legal', roles: ['legal'], decision: 'needs_gate', gate: 'gate.policy-change' },
  ]
  const tests = [{ ...passing, expect: 'denied' }]
  const { decide } = policyOf(document({ rules, tests }), gates)
  const asker = (kind: 'person' | 'ai_agent', roles: string[]) => ({ kind, roles })
  t.equal(decide('a.b', asker('ai_agent', ['legal']), { dry_run: true }).ruleId, 'agents')
  t.equal(decide('a.b', asker('person', ['legal']), { dry_run: true }).ruleId, 'dry')
  t.equal(decide('a.b', asker('person', ['legal'])).ruleId, 'legal')
  t.equal(decide('a', asker('person', ['legal'])).ruleId, undefined)
})

t.test('a value in a rule matches in any order of its members', async t => {
  const target = { kind: 'robot', zone: { floor: 1, room: 'b' } }
  const rules = [{ ...rule, id: 'never', when: { target }, decision: 'denied' }, rule]
  const { decide } = policyOf(document({ rules }), gates)
  const asker = { kind: 'person', roles: [] } as const
  for (const [told, ruleId] of [
    ['{"zone":{"room":"b","floor":1},"kind":"robot"}', 'never'],
    ['{"kind":"robot","zone":{"floor":1.0,"room":"b"}}', 'never'],
    ['{"kind":"robot","zone":{"floor":2,"room":"b"}}', 'r'],
    ['{"kind":"\\ud800"}', 'r'],
    ['null', 'r'],
  ] as const)
    t.equal(decide('a.b', asker, { target: JSON.parse(told) }).ruleId, ruleId, told)
})

t.test('an infinite number does not match a null in a rule', async t => {
  const rules = [{ ...rule, id: 'nothing', when: { limit: null }, decision: 'denied' }, rule]
  const { decide } = policyOf(document({ rules }), gates)
  const asker = { kind: 'person', roles: [] } as const
  t.equal(decide('a.b', asker, { limit: null }).ruleId, 'nothing')
  t.equal(decide('a.b', asker, { limit: JSON.parse('1e400') }).ruleId, 'r')
})
