import t from 'tap'
import { planHash } from '../../coordinator/access/gates/plan-hash.ts'
import { newId } from '../../shared/ids.ts'
import { createSigner, generatePrivateKey } from '../../shared/signing.ts'
import { type Approval, signApproval } from '../../shared/wire/approval.ts'
import { findPlanFault } from '../../shared/wire/approved-plan.ts'

type CellFacts = Parameters<typeof findPlanFault>[1]

const NOW = 1_800_000_000_000
const signer = createSigner(generatePrivateKey())
const stranger = createSigner(generatePrivateKey())
const GATE = 'gate.device-command-live'
const CELL = newId('cell')
const OTHER = newId('cell')
const [OWN, OTHERS] = ['1'.repeat(64), '2'.repeat(64)]
const plan = {
  summary: 'two arms meet',
  parts: [
    { cell_id: OTHER, part_hash: OTHERS },
    { cell_id: CELL, part_hash: OWN },
  ],
}
const body = {
  request_id: 'gate_1',
  gate_id: GATE,
  plan_hash: planHash(plan),
  policy_hash: 'f'.repeat(64),
  requester_id: 'bea',
  approver_ids: ['ada', 'art'],
  approved_at: NOW - 1000,
  expires_at: NOW + 1000,
}
const approval = signApproval(body, signer)
const facts: CellFacts = {
  cellId: CELL,
  trusted: [stranger.publicKey, signer.publicKey],
  gateId: GATE,
  partHash: OWN,
  now: NOW,
  isUsed: () => false,
}

t.test('a cell executes its approved part once, by a local check', async t => {
  t.equal(findPlanFault({ plan, approval }, facts), undefined)
  const over = JSON.parse(
    JSON.stringify({ approval, plan: Object.fromEntries(Object.entries(plan).reverse()) }),
  )
  t.equal(findPlanFault(over, facts), undefined, 'in whatever order it came')
  const journal = new Set<string>()
  const once = () => {
    const fault = findPlanFault({ plan, approval }, { ...facts, isUsed: id => journal.has(id) })
    journal.add(approval.request_id)
    return fault
  }
  t.equal(once(), undefined)
  t.match(once(), { reason: 'approval_used' })
  const others = { ...facts, cellId: OTHER, partHash: OTHERS }
  t.equal(findPlanFault({ plan, approval }, others), undefined, 'nor does another cell')
})

t.test('each fault of an approval has its own reason', async t => {
  const signWith = (parts: object) => signApproval({ ...body, ...parts }, signer)
  const away = { ...plan, parts: [{ cell_id: OTHER, part_hash: OWN }] }
  const whole = { plan, approval }
  const found = (
    [
      [whole, { now: NOW + 1000 }],
      [whole, { gateId: 'gate.swarm-formation-live' }],
      [whole, { cellId: newId('cell') }],
      [{ plan: away, approval: signWith({ plan_hash: planHash(away) }) }, {}],
      [whole, { partHash: OTHERS }],
      [{ plan: away, approval }, {}],
      [{ plan, approval: signApproval(body, createSigner(generatePrivateKey())) }, {}],
      [whole, { trusted: [] }],
      [{ plan, approval: { ...approval, signature: 'A'.repeat(86) } }, {}],
      [{ plan, approval: signWith({ approver_ids: ['ada', 'ada'] }) }, {}],
      [{ plan, approval: signWith({ approver_ids: ['bea'] }) }, {}],
      [whole, { isUsed: () => true }],
    ] as [unknown, Partial<CellFacts>][]
  ).map(([message, seen]) => findPlanFault(message, { ...facts, ...seen })?.reason)
  t.strictSame(found, [
    'approval_expired',
    'approval_other_gate',
    'approval_other_cell',
    'approval_other_cell',
    'approval_other_plan',
    'approval_other_plan',
    'approval_not_genuine',
    'approval_not_genuine',
    'approval_not_genuine',
    'approval_not_counted',
    'approval_not_counted',
    'approval_used',
  ])
})

t.test('every altered field is detected', async t => {
  const other: Record<keyof Approval, unknown> = {
    request_id: 'gate_2',
    gate_id: 'gate.minor-release-approve',
    plan_hash: '0'.repeat(64),
    policy_hash: '0'.repeat(64),
    requester_id: 'zoe',
    approver_ids: ['ada'],
    approved_at: NOW,
    expires_at: NOW + 9999,
    key_id: stranger.publicKey,
    signature: `${approval.signature.startsWith('A') ? 'B' : 'A'}${approval.signature.slice(1)}`,
  }
  t.strictSame(Object.keys(other).toSorted(), Object.keys(approval).toSorted())
  const reasons = Object.entries(other).map(
    ([name, value]) =>
      findPlanFault({ plan, approval: { ...approval, [name]: value } }, facts)?.reason,
  )
  t.ok(reasons.every(reason => reason === 'approval_not_genuine'))
  const altered = [
    { ...plan, summary: 'one arm drops' },
    { ...plan, more: null },
    { ...plan, parts: plan.parts.slice(1) },
    { ...plan, summary: 'two arms meet\u200b' },
  ].map(changed => findPlanFault({ plan: changed, approval }, facts)?.reason)
  t.ok(altered.every(reason => reason === 'approval_other_plan'))
})

t.test('a malformed approved plan is refused without an exception', async t => {
  const { signature: _, ...unsigned } = approval
  const messages = [
    undefined,
    null,
    'x',
    {},
    { plan },
    { approval },
    { plan: [], approval },
    { plan: {}, approval },
    { plan: { parts: [] }, approval },
    { plan: { parts: [{ cell_id: CELL }] }, approval },
    { plan, approval: unsigned },
    { plan, approval, more: 1 },
    { plan, approval: { ...approval, more: 1 } },
    { plan: { ...plan, summary: '\ud800' }, approval },
  ]
  const reasons = messages.map(message => findPlanFault(message, facts)?.reason)
  t.ok(reasons.every(reason => reason === 'approval_malformed'))
})
