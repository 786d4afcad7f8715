import type { DecidedRequest } from '../../coordinator/access/gates/decided.ts'
import { type GateDefinition, loadShippedGates } from '../../coordinator/access/gates/definition.ts'
import type { GovernanceFacts } from '../../coordinator/access/gates/facts.ts'
import {
  loadPolicy,
  type Policy,
  SHIPPED_POLICY_FILE,
} from '../../coordinator/access/gates/policy.ts'
import { policyHash } from '../../coordinator/access/gates/rules-fault.ts'
import type { EnrolledCell } from '../../coordinator/fleet/enrolment/cell.ts'
import type { Vote } from '../../coordinator/kernel/declaration/gate-request.ts'
import { type Key, OPERATOR_ROLES } from '../../coordinator/kernel/declaration/key.ts'

export const NOW = 1_800_000_000_000
const DAY_MS = 86_400_000
const gates = loadShippedGates()
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
export const request: DecidedRequest = {
  id: 'gate_1',
  gateId: 'gate.minor-release-approve',
  policyHash: policyHash(loadShippedGates()['gate.minor-release-approve'] as GateDefinition),
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
/** Facts with which every governance check passes. */
export const healthy: GovernanceFacts = {
  now: NOW,
  gates,
  policy,
  policyDrift: undefined,
  unreadableRequests: [],
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

export const omitGate = (id: string) => {
  const { [id]: _, ...rest } = gates
  return rest
}
export const changeGate = (id: string, parts: object) => ({
  ...gates,
  [id]: { ...gates[id], ...parts },
})
const always = (decision: 'allowed' | 'denied'): Policy => ({
  ...policy,
  decide: () => ({ decision, gateId: undefined, ruleId: undefined, reason: '' }),
})
export const withRequest = (parts: Partial<DecidedRequest>) => ({
  requests: [{ ...request, ...parts }],
})

/** Facts that break each governance check. */
export const BROKEN: Record<string, Partial<GovernanceFacts>> = {
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
