import type { Kysely } from 'kysely'
import type { Logger } from 'pino'
import type { GateRequest, Vote } from '../../kernel/declaration/gate-request.ts'
import { readEach } from '../../kernel/store/read-each.ts'
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

export interface DecidedRequests {
  /** Requests, newest first. */
  requests: DecidedRequest[]
  /** Ids of requests that cannot be read in full. */
  unreadable: string[]
}

/** Reads the newest requests. */
export const readDecided = async (
  db: Reader,
  limit: number,
  scope: Scope,
  logger: Pick<Logger, 'warn'>,
): Promise<DecidedRequests> => {
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
  const requests = readEach(
    rows,
    row => {
      const own = (votes.get(row.id) ?? []).map(gateVoteTable.readSome)
      return {
        ...gateRequestTable.readSome(row),
        votes: own.map(({ requestId: _, ...vote }) => vote),
      }
    },
    logger,
  )
  const readable = new Set(requests.map(({ id }) => id))
  return { requests, unreadable: rows.map(({ id }) => id).filter(id => !readable.has(id)) }
}

const votesOn = async (db: Reader, ids: readonly string[]) => {
  if (ids.length === 0) return new Map<string, never>()
  const rows = await db
    .selectFrom('gate_votes')
    .select(['request_id', 'person_id', 'key_id', 'roles_json', 'decision', 'at'])
    .where('request_id', 'in', ids)
    .orderBy('at')
    .execute()
  return Map.groupBy(rows, row => row.request_id)
}
