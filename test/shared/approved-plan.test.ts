import t from 'tap'
import { planHash } from '../../coordinator/gates/plan-hash.ts'
import { newPrivateKey, signerOf } from '../../shared/signing.ts'
import { type Approval, signApproval } from '../../shared/wire/approval.ts'
import { approvedPlanFault, type CellFacts } from '../../shared/wire/approved-plan.ts'

const NOW = 1_800_000_000_000
const signer = signerOf(newPrivateKey())
const stranger = signerOf(newPrivateKey())
const GATE = 'gate.device-command-live'
const plan = { cell_id: 'cell_a', device: 'arm-1', verb: 'move', params: { to: [1, 2, 3] } }
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
  cellId: 'cell_a',
  trusted: [stranger.publicKey, signer.publicKey],
  gateId: GATE,
  now: NOW,
  isUsed: () => false,
}

t.test('a cell carries out what was approved for it, once, without asking anybody', async t => {
  t.equal(approvedPlanFault({ plan, approval }, facts), undefined)
  const over = JSON.parse(
    JSON.stringify({ approval, plan: Object.fromEntries(Object.entries(plan).reverse()) }),
  )
  t.equal(approvedPlanFault(over, facts), undefined, 'in whatever order it came')
  const journal = new Set<string>()
  const once = () => {
    const fault = approvedPlanFault({ plan, approval }, { ...facts, isUsed: id => journal.has(id) })
    journal.add(approval.request_id)
    return fault
  }
  t.equal(once(), undefined)
  t.equal(once(), 'it was used before')
})

t.test('what is not for this cell, now, at this gate', async t => {
  const away = { ...plan, cell_id: 'cell_b' }
  const nobody = { device: 'arm-1' }
  const signed = (parts: object) => signApproval({ ...body, ...parts }, signer)
  for (const [what, message, seen, fault] of [
    ['the end', { plan, approval }, { now: NOW + 1000 }, /expired/],
    ['another gate', { plan, approval }, { gateId: 'gate.swarm-formation-live' }, /another gate/],
    ['another cell', { plan, approval }, { cellId: 'cell_b' }, /another cell/],
    [
      'another cell in the plan',
      { plan: away, approval: signed({ plan_hash: planHash(away) }) },
      {},
      /another cell/,
    ],
    [
      'no cell in the plan',
      { plan: nobody, approval: signed({ plan_hash: planHash(nobody) }) },
      {},
      /another cell/,
    ],
    [
      'a coordinator that is not followed',
      { plan, approval: signApproval(body, signerOf(newPrivateKey())) },
      {},
      /whom this cell follows/,
    ],
    ['nobody who is followed', { plan, approval }, { trusted: [] }, /whom this cell follows/],
    [
      'an approver twice',
      { plan, approval: signed({ approver_ids: ['ada', 'ada'] }) },
      {},
      /twice/,
    ],
    ['who asked', { plan, approval: signed({ approver_ids: ['bea'] }) }, {}, /who asked/],
  ] as const)
    t.match(approvedPlanFault(message, { ...facts, ...seen }), fault, what)
})

t.test('every altered field is seen', async t => {
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
  for (const [name, value] of Object.entries(other))
    t.type(
      approvedPlanFault({ plan, approval: { ...approval, [name]: value } }, facts),
      'string',
      name,
    )
  for (const altered of [
    { ...plan, verb: 'drop' },
    { ...plan, params: { to: [1, 2, 4] } },
    { ...plan, more: null },
    { ...plan, device: 'arm-1\u200b' },
  ])
    t.match(approvedPlanFault({ plan: altered, approval }, facts), /another plan/)
})

t.test('what is no approved plan is refused, not thrown at', async t => {
  const { signature: _, ...unsigned } = approval
  for (const message of [
    undefined,
    null,
    'x',
    {},
    { plan },
    { approval },
    { plan: [], approval },
    { plan, approval: unsigned },
    { plan, approval, more: 1 },
    { plan, approval: { ...approval, more: 1 } },
    { plan: { ...plan, device: '\ud800' }, approval },
  ])
    t.type(approvedPlanFault(message, facts), 'string')
})
