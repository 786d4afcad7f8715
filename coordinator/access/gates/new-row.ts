import { ShoalError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { DAY_MS } from '../../../shared/time.ts'
import type { Caller } from '../../kernel/declaration/caller.ts'
import type { GateRequest } from '../../kernel/declaration/gate-request.ts'
import { countMatchingRows } from '../../kernel/store/count.ts'
import type { NewRequest, Trx } from './asking.ts'
import type { GateDefinition } from './definition.ts'
import type { GateRequestRow } from './gate-request.table.ts'
import { canonical, planHash } from './plan-hash.ts'
import { requestEnd, stateAt } from './request.ts'
import { readRequests } from './rows.ts'
import { policyHash } from './rules-fault.ts'

export const createRequestRow = (
  { gateId, subject, summary, plan, evidence = null }: NewRequest,
  { person, tenantId }: Caller,
  rules: GateDefinition,
  now: number,
): GateRequestRow => {
  const hashed = planHash(plan)
  return {
    id: newId('gate', now),
    gate_id: gateId,
    tenant_id: tenantId,
    requester_id: person.personId,
    requester_key_id: person.keyId,
    subject: subject ?? hashed,
    summary,
    plan_json: canonical(plan, 'plan'),
    plan_hash: hashed,
    policy_hash: policyHash(rules),
    evidence_json: canonical(evidence, 'evidence'),
    state: 'pending',
    reason: null,
    created_at: now,
    expires_at: requestEnd(rules, now),
    approved_at: null,
    approval_expires_at: null,
    consumed_at: null,
  }
}

/** Pending or usable requests of the same person about the same subject. */
export const openRequests = async (
  trx: Trx,
  row: GateRequestRow,
  now: number,
): Promise<GateRequest[]> => {
  const found = await readRequests(
    trx,
    {
      gateId: row.gate_id,
      requesterId: row.requester_id,
      subject: row.subject,
      states: ['pending', 'approved'],
      limit: 100,
    },
    { tenantId: row.tenant_id },
  )
  return found.filter(one => stateAt(one, now) === one.state)
}

/**
 * Maximum number of pending requests per requester; approvers cannot review more, and each may hold
 * a plan of the maximum size.
 */
const MAX_WAITING = 100

export const requireRoom = async (trx: Trx, row: GateRequestRow, now: number): Promise<void> => {
  const waiting = await countMatchingRows(
    trx
      .selectFrom('gate_requests')
      .where('tenant_id', '=', row.tenant_id)
      .where('requester_id', '=', row.requester_id)
      .where('state', '=', 'pending')
      .where('expires_at', '>', now),
  )
  if (waiting >= MAX_WAITING)
    throw new ShoalError('conflict', `${waiting} requests of yours wait already; withdraw some`)
}

export const isSame = (one: GateRequest, row: GateRequestRow): boolean =>
  one.planHash === row.plan_hash && one.policyHash === row.policy_hash

/**
 * Maximum number of requests per requester, gate and day; each is kept and may hold two large plans,
 * so that more could fill the disk.
 */
const MAX_A_DAY = 1000

/** Counts by id: ids begin with their time, so requests of the last day have greater ids. */
export const requireFewToday = async (
  trx: Trx,
  row: GateRequestRow,
  now: number,
): Promise<void> => {
  const made = await countMatchingRows(
    trx
      .selectFrom('gate_requests')
      .where('tenant_id', '=', row.tenant_id)
      .where('gate_id', '=', row.gate_id)
      .where('id', '>', newId('gate', now - DAY_MS))
      .where('requester_id', '=', row.requester_id),
  )
  if (made >= MAX_A_DAY)
    throw new ShoalError('conflict', `you have asked ${made} times at ${row.gate_id} in a day`)
}

export const toRequestAudit = (row: GateRequestRow) => ({
  tenant: row.tenant_id,
  action: 'gate.request',
  subject: row.id,
  outcome: 'done' as const,
  details: { gate: row.gate_id, plan_hash: row.plan_hash, person: row.requester_id },
})
