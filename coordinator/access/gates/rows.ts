import type { Kysely } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import type { GateRequest, RequestState } from '../../kernel/declaration/gate-request.ts'
import { countAll } from '../../kernel/store/count.ts'
import type { RowOf } from '../../kernel/store/define-table.ts'
import { isInScope, type Scope } from '../../kernel/store/scope.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { gateRequestTable } from './gate-request.table.ts'
import { gateVoteTable } from './gate-vote.table.ts'

/** A transaction or the reading connection. */
type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>

/** Throws `not_found`, also for a request of another tenant. */
export const readRequest = async (db: Reader, id: string, scope: Scope): Promise<GateRequest> => {
  const row = await db
    .selectFrom('gate_requests')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined || !isInScope(scope, row.tenant_id))
    throw new ShoalError('not_found', `no request ${id}`)
  const [request] = await withVotes(db, [row])
  return request as GateRequest
}

export interface RequestFilter {
  gateId?: string
  requesterId?: string
  /** Leaves out the requests of this person. */
  exceptRequesterId?: string
  states?: readonly RequestState[]
  subject?: string
  /** Upper bound of the ids, exclusive: the cursor of the next page. */
  before?: string
  limit: number
}

/** Reads requests, newest first. */
export const readRequests = async (
  db: Reader,
  { gateId, requesterId, exceptRequesterId, states, subject, before, limit }: RequestFilter,
  scope: Scope,
): Promise<GateRequest[]> => {
  let query = db.selectFrom('gate_requests').selectAll().orderBy('id', 'desc').limit(limit)
  if (scope !== 'all') query = query.where('tenant_id', '=', scope.tenantId)
  if (gateId !== undefined) query = query.where('gate_id', '=', gateId)
  if (requesterId !== undefined) query = query.where('requester_id', '=', requesterId)
  if (exceptRequesterId !== undefined) query = query.where('requester_id', '<>', exceptRequesterId)
  if (states !== undefined) query = query.where('state', 'in', states)
  if (subject !== undefined) query = query.where('subject', '=', subject)
  if (before !== undefined) query = query.where('id', '<', before)
  return withVotes(db, await query.execute())
}

/** Number of pending requests by gate. */
export const countPending = async (
  db: Reader,
  scope: Scope,
  now: number,
): Promise<Map<string, number>> => {
  let query = db
    .selectFrom('gate_requests')
    .select(['gate_id', countAll.as('waiting')])
    .where('state', '=', 'pending')
    .where('expires_at', '>', now)
    .groupBy('gate_id')
  if (scope !== 'all') query = query.where('tenant_id', '=', scope.tenantId)
  return new Map((await query.execute()).map(row => [row.gate_id, row.waiting]))
}

const withVotes = async (
  db: Reader,
  rows: readonly RowOf<typeof gateRequestTable>[],
): Promise<GateRequest[]> => {
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const votes = await db
    .selectFrom('gate_votes')
    .selectAll()
    .where('request_id', 'in', ids)
    .orderBy('at')
    .execute()
  return rows.map(gateRequestTable.read).map(request => ({
    ...request,
    votes: votes
      .filter(vote => vote.request_id === request.id)
      .map(gateVoteTable.read)
      .map(({ requestId: _, ...vote }) => vote),
  }))
}
