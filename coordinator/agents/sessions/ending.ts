import type { Trx } from '../../access/gates/asking.ts'
import { appendAudit } from '../../kernel/audit/audit.ts'
import type { AgentSession, SessionOutcome } from './session.ts'
import { dueSessions } from './session-rows.ts'

export type EndedSession = AgentSession

/** Releases the scopes of a session. */
export const freeClaims = async (trx: Trx, sessionId: string): Promise<void> => {
  await trx.deleteFrom('agent_claims').where('session_id', '=', sessionId).execute()
}

/** Ends a session and frees its scopes. */
export const endSession = async (
  trx: Trx,
  id: string,
  outcome: SessionOutcome,
  at: number,
): Promise<void> => {
  await freeClaims(trx, id)
  await trx
    .updateTable('agent_sessions')
    .set({ ended_at: at, outcome, waiting_json: null })
    .where('id', '=', id)
    .execute()
}

/** Marks sessions as expired, each with its audit row; returns them. */
export const endDue = async (trx: Trx, at: number, tenantId?: string): Promise<EndedSession[]> => {
  const due = await dueSessions(trx, at, tenantId)
  for (const { id, tenantId, agentId, step, idleAt, expiresAt, claims } of due) {
    await endSession(trx, id, 'expired', Math.min(idleAt, expiresAt))
    await appendAudit(trx, {
      actor: 'coordinator',
      at,
      tenant: tenantId,
      action: 'session.expire',
      subject: id,
      outcome: 'done',
      details: { agent: agentId, from: step, scopes: claims.map(({ scope }) => scope) },
    })
  }
  return due.map(session => ({ ...session, outcome: 'expired' }))
}
