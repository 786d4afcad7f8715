import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { DAY_MS } from '../../../shared/time.ts'
import type { Caller } from '../../kernel/declaration/caller.ts'
import type { GateRequest } from '../../kernel/declaration/gate-request.ts'
import { countMatchingRows } from '../../kernel/store/count.ts'
import type { NewRequest, Trx } from './asking.ts'
import type { GateDefinition } from './definition.ts'
import type { StoredRequest } from './gate-request.table.ts'
import { planHash, canonical as requireCanonical } from './plan-hash.ts'
import { requestEnd, stateAt } from './request.ts'
import { readRequestIds, readRequests } from './rows.ts'
import { policyHash } from './rules-fault.ts'

export const createRequest = (
  { gateId, subject, summary, plan, evidence = null }: NewRequest,
  { person, tenantId }: Caller,
  rules: GateDefinition,
  { now, id }: { now: number; id: string },
): StoredRequest => {
  const hashed = planHash(plan)
  requireCanonical(evidence, 'evidence')
  return {
    id,
    gateId,
    tenantId,
    requesterId: person.personId,
    requesterKeyId: person.keyId,
    subject: subject ?? hashed,
    summary,
    plan,
    planHash: hashed,
    policyHash: policyHash(rules),
    evidence,
    state: 'pending',
    createdAt: now,
    expiresAt: requestEnd(rules, now),
  }
}

/** Pending or usable requests of the same person about the same subject. */
interface OpenRequests {
  requests: GateRequest[]
  /** Ids of requests that cannot be read. */
  unreadable: string[]
}

export const findOpenRequests = async (
  trx: Trx,
  { gateId, requesterId, subject, tenantId }: StoredRequest,
  { now, logger }: { now: number; logger: Pick<Logger, 'warn'> },
): Promise<OpenRequests> => {
  const states = ['pending', 'approved'] as const
  const filter = { gateId, requesterId, subject, states, limit: 100 }
  const found = await readRequests(trx, filter, { tenantId }, logger)
  const ids = new Set(await readRequestIds(trx, filter, { tenantId }))
  for (const { id } of found) ids.delete(id)
  return {
    requests: found.filter(one => stateAt(one, now) === one.state),
    unreadable: [...ids],
  }
}

/**
 * Maximum number of pending requests per requester; approvers cannot review more, and each may hold
 * a plan of the maximum size.
 */
const MAX_WAITING = 100

export const requireRoom = async (
  trx: Trx,
  { tenantId, requesterId }: StoredRequest,
  now: number,
): Promise<void> => {
  const waiting = await countMatchingRows(
    trx
      .selectFrom('gate_requests')
      .where('tenant_id', '=', tenantId)
      .where('requester_id', '=', requesterId)
      .where('state', '=', 'pending')
      .where('expires_at', '>', now),
  )
  if (waiting >= MAX_WAITING)
    throw new ShoalError('conflict', `${waiting} requests of yours wait already; withdraw some`)
}

export const isSame = (one: StoredRequest, other: StoredRequest): boolean =>
  one.planHash === other.planHash && one.policyHash === other.policyHash

/**
 * Maximum number of requests per requester, gate and day; each is kept and may hold two large plans,
 * so that more could fill the disk.
 */
const MAX_A_DAY = 1000

/** Counts by id: ids begin with their time, so requests of the last day have greater ids. */
export const requireFewToday = async (
  trx: Trx,
  { tenantId, gateId, requesterId }: StoredRequest,
  now: number,
): Promise<void> => {
  const made = await countMatchingRows(
    trx
      .selectFrom('gate_requests')
      .where('tenant_id', '=', tenantId)
      .where('gate_id', '=', gateId)
      .where('id', '>', newId('gate', now - DAY_MS))
      .where('requester_id', '=', requesterId),
  )
  if (made >= MAX_A_DAY)
    throw new ShoalError('conflict', `you have made ${made} requests at ${gateId} in a day`)
}

export const toRequestAudit = (request: StoredRequest) => ({
  tenant: request.tenantId,
  action: 'gate.request',
  subject: request.id,
  outcome: 'done' as const,
  details: { gate: request.gateId, plan_hash: request.planHash, person: request.requesterId },
})
