import type { Kysely } from 'kysely'
import type { Logger } from 'pino'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import type { GateRequest, RequestState } from '../../kernel/declaration/gate-request.ts'
import { countAll } from '../../kernel/store/count.ts'
import type { RowOf } from '../../kernel/store/define-table.ts'
import { readEach, readPage } from '../../kernel/store/read-each.ts'
import { isInScope, type Scope } from '../../kernel/store/scope.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { gateRequestTable, type StoredRequest } from './gate-request.table.ts'
import { gateVoteTable } from './gate-vote.table.ts'

/** A transaction or the reading connection. */
type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>

/**
 * Reads a request with its votes. Throws `not_found`, also for a request of another tenant, and
 * `internal` when a part of it, such as a vote, cannot be read: it is never decided or used.
 */
export const readRequest = async (db: Reader, id: string, scope: Scope): Promise<GateRequest> => {
  const row = await db
    .selectFrom('gate_requests')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined || !isInScope(scope, row.tenant_id)) throw createUnknownError('request', id)
  const [request] = (await withVotes(db, [row])).map(readWithVotes)
  return request as GateRequest
}

/** Substitutes for the unreadable fields of a request that is being ended. */
const UNKNOWN: StoredRequest = {
  id: '',
  gateId: '',
  tenantId: '',
  requesterId: '',
  requesterKeyId: '',
  subject: '',
  summary: '',
  plan: null,
  planHash: '',
  policyHash: '',
  evidence: null,
  state: 'pending',
  createdAt: 0,
  expiresAt: 0,
}

/** Reads a request to end it without an approval; what cannot be read, votes included, is left out. */
export const readEnding = async (db: Reader, id: string): Promise<GateRequest> => {
  const query = db.selectFrom('gate_requests').selectAll().where('id', '=', id)
  const row = await query.executeTakeFirst()
  if (row === undefined) throw createUnknownError('request', id)
  const [found] = readEach(await withVotes(db, [row]), readWithVotes, undefined)
  return found ?? { ...gateRequestTable.readOr(row, UNKNOWN), votes: [] }
}

export interface RequestFilter {
  gateId?: string
  requesterId?: string
  /** Leaves out the requests of this person. */
  exceptRequesterId?: string
  states?: readonly RequestState[]
  subject?: string
  /** Upper bound of the ids, exclusive: the cursor of the next page. */
  before?: string | undefined
  limit: number
}

/** Reads requests, newest first, without those that cannot be read. */
export const readRequests = (
  db: Reader,
  { before, ...filter }: RequestFilter,
  scope: Scope,
  logger: Pick<Logger, 'warn'>,
): Promise<GateRequest[]> =>
  readPage({
    limit: filter.limit,
    read: readWithVotes,
    logger,
    select: async (limit, last) => {
      const page = { ...filter, limit, before: last?.row.id ?? before }
      return withVotes(db, await selectRequests(db, page, scope).selectAll().execute())
    },
  })

/** Ids of requests, newest first, also of those that cannot be read. */
export const readRequestIds = async (
  db: Reader,
  filter: RequestFilter,
  scope: Scope,
): Promise<string[]> => {
  const rows = await selectRequests(db, filter, scope).select('id').execute()
  return rows.map(({ id }) => id)
}

const selectRequests = (
  db: Reader,
  { gateId, requesterId, exceptRequesterId, states, subject, before, limit }: RequestFilter,
  scope: Scope,
) => {
  let query = db.selectFrom('gate_requests').orderBy('id', 'desc').limit(limit)
  if (scope !== 'all') query = query.where('tenant_id', '=', scope.tenantId)
  if (gateId !== undefined) query = query.where('gate_id', '=', gateId)
  if (requesterId !== undefined) query = query.where('requester_id', '=', requesterId)
  if (exceptRequesterId !== undefined) query = query.where('requester_id', '<>', exceptRequesterId)
  if (states !== undefined) query = query.where('state', 'in', states)
  if (subject !== undefined) query = query.where('subject', '=', subject)
  if (before !== undefined) query = query.where('id', '<', before)
  return query
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

interface RequestRow {
  row: RowOf<typeof gateRequestTable>
  /** Votes on the request, the oldest first. */
  votes: readonly RowOf<typeof gateVoteTable>[]
}

const withVotes = async (db: Reader, rows: readonly RequestRow['row'][]): Promise<RequestRow[]> => {
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const query = db.selectFrom('gate_votes').selectAll().where('request_id', 'in', ids)
  const votes = Map.groupBy(await query.orderBy('at').execute(), vote => vote.request_id)
  return rows.map(row => ({ row, votes: votes.get(row.id) ?? [] }))
}

const readWithVotes = ({ row, votes }: RequestRow): GateRequest => ({
  ...gateRequestTable.read(row),
  votes: votes.map(gateVoteTable.read).map(({ requestId: _, ...vote }) => vote),
})
