import type { Kysely } from 'kysely'
import type { GateRequest, Vote } from '../../kernel/declaration/gate-request.ts'
import type { Scope } from '../../kernel/store/scope.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { gateRequestTable } from './gate-request.table.ts'
import { gateVoteTable } from './gate-vote.table.ts'

/** Decisions on a request and its use, without the plan, which may be large. */
export type DecidedRequest = Pick<
  GateRequest,
  | 'id'
  | 'gateId'
  | 'policyHash'
  | 'requesterId'
  | 'state'
  | 'createdAt'
  | 'consumedAt'
  | 'approvalExpiresAt'
> & { votes: readonly Omit<Vote, 'reason'>[] }

type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** The newest requests, newest first. */
export const readDecided = async (
  db: Reader,
  limit: number,
  scope: Scope,
): Promise<DecidedRequest[]> => {
  let query = db
    .selectFrom('gate_requests')
    .select(['id', 'gate_id', 'policy_hash', 'requester_id', 'state'])
    .select(['created_at', 'consumed_at', 'approval_expires_at'])
    .orderBy('id', 'desc')
    .limit(limit)
  if (scope !== 'all') query = query.where('tenant_id', '=', scope.tenantId)
  const rows = await query.execute()
  const votes = await votesOn(
    db,
    rows.map(({ id }) => id),
  )
  return rows
    .map(gateRequestTable.readSome)
    .map(request => ({ ...request, votes: votes.get(request.id) ?? [] }))
}

const votesOn = async (
  db: Reader,
  ids: readonly string[],
): Promise<Map<string, Omit<Vote, 'reason'>[]>> => {
  const votes = new Map<string, Omit<Vote, 'reason'>[]>()
  if (ids.length === 0) return votes
  const rows = await db
    .selectFrom('gate_votes')
    .select(['request_id', 'person_id', 'key_id', 'roles_json', 'decision', 'at'])
    .where('request_id', 'in', ids)
    .orderBy('at')
    .execute()
  for (const { requestId, ...vote } of rows.map(gateVoteTable.readSome))
    votes.set(requestId, [...(votes.get(requestId) ?? []), vote])
  return votes
}
