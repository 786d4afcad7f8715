import type { Kysely } from 'kysely'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import { countMatchingRows } from '../../kernel/store/count.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { LedgerTables } from '../../kernel/store/tables.ts'
import { agentClaimTable } from './agent-claim.table.ts'
import { type AgentSessionRow, agentSessionTable } from './agent-session.table.ts'
import type { AgentSession } from './session.ts'

/** A transaction or the reading connection. */
export type Reader = Pick<Kysely<LedgerTables>, 'selectFrom'>

export interface SessionFilter {
  tenantId: string
  personId?: string
  agentId?: string
  /** Restricts the result to sessions that are live at this time. */
  liveAt?: number
  /** Upper bound of the ids, exclusive: the cursor of the next page. */
  before?: string
  limit: number
}

/** Reads sessions, newest first. */
export const readSessions = async (
  db: Reader,
  { tenantId, personId, agentId, liveAt, before, limit }: SessionFilter,
): Promise<AgentSession[]> => {
  let query = db
    .selectFrom('agent_sessions')
    .selectAll()
    .where('tenant_id', '=', tenantId)
    .orderBy('id', 'desc')
    .limit(limit)
  if (personId !== undefined) query = query.where('person_id', '=', personId)
  if (agentId !== undefined) query = query.where('agent_id', '=', agentId)
  if (before !== undefined) query = query.where('id', '<', before)
  if (liveAt !== undefined)
    query = query
      .where('ended_at', 'is', null)
      .where('idle_at', '>', liveAt)
      .where('expires_at', '>', liveAt)
  return withClaims(db, await query.execute())
}

/** Reads a session; undefined also for one of another tenant. */
export const findSession = async (
  db: Reader,
  id: string,
  tenantId: string,
): Promise<AgentSession | undefined> => {
  const rows = await db
    .selectFrom('agent_sessions')
    .selectAll()
    .where('id', '=', id)
    .where('tenant_id', '=', tenantId)
    .execute()
  return (await withClaims(db, rows))[0]
}

/** Throws `not_found`. */
export const readSession = async (
  db: Reader,
  id: string,
  tenantId: string,
): Promise<AgentSession> => (await findSession(db, id, tenantId)) ?? noSession(id)

export const noSession = (id: string): never => {
  throw createUnknownError('session', id)
}

/** Sessions that are over but not yet marked as such. */
export const dueSessions = async (
  db: Reader,
  now: number,
  tenantId?: string,
): Promise<AgentSession[]> => {
  let query = db
    .selectFrom('agent_sessions')
    .selectAll()
    .where('ended_at', 'is', null)
    .where(({ or, eb }) => or([eb('idle_at', '<=', now), eb('expires_at', '<=', now)]))
    .limit(500)
  if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId)
  return withClaims(db, await query.execute())
}

export const countLive = (db: Reader, tenantId: string, now: number): Promise<number> =>
  countMatchingRows(
    db
      .selectFrom('agent_sessions')
      .where('tenant_id', '=', tenantId)
      .where('ended_at', 'is', null)
      .where('idle_at', '>', now)
      .where('expires_at', '>', now),
  )

/** Scopes that live sessions hold. */
export const countClaims = (db: Reader, tenantId: string, now: number): Promise<number> =>
  countMatchingRows(
    db
      .selectFrom('agent_claims')
      .innerJoin('agent_sessions', 'agent_sessions.id', 'agent_claims.session_id')
      .where('agent_claims.tenant_id', '=', tenantId)
      .where('ended_at', 'is', null)
      .where('idle_at', '>', now)
      .where('expires_at', '>', now),
  )

/** Holder of a scope, live or ended. */
export const holderOf = async (
  db: Reader,
  tenantId: string,
  scope: string,
): Promise<AgentSession | undefined> => {
  const claim = await db
    .selectFrom('agent_claims')
    .select('session_id')
    .where('tenant_id', '=', tenantId)
    .where('scope', '=', scope)
    .executeTakeFirst()
  return claim && findSession(db, claim.session_id, tenantId)
}

const withClaims = async (
  db: Reader,
  rows: readonly AgentSessionRow[],
): Promise<AgentSession[]> => {
  if (rows.length === 0) return []
  const ids = rows.map(({ id }) => id)
  const found = await db
    .selectFrom('agent_claims')
    .selectAll()
    .where('session_id', 'in', ids)
    .orderBy('scope')
    .execute()
  const claims = found.map(agentClaimTable.read)
  return rows.map(agentSessionTable.read).map(session => ({
    ...session,
    claims: claims.filter(({ sessionId }) => sessionId === session.id),
  }))
}

/** Deletes sessions that ended before a Unix time; 100 per call, which keeps transactions short. */
export const deleteEnded = async (ledger: Ledger, before: number): Promise<void> => {
  const old = await ledger.read
    .selectFrom('agent_sessions')
    .select('id')
    .where('ended_at', '<', before)
    .limit(100)
    .execute()
  if (old.length === 0) return
  const ids = old.map(({ id }) => id)
  await ledger.free.write(async trx => {
    await trx.deleteFrom('agent_evidence').where('session_id', 'in', ids).execute()
    await trx.deleteFrom('agent_sessions').where('id', 'in', ids).execute()
  })
}
