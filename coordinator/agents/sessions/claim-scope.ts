import { ShoalError } from '../../../shared/errors.ts'
import type { Trx } from '../../access/gates/asking.ts'
import { breaksConstraint } from '../../kernel/store/faults.ts'
import { freeClaims } from './ending.ts'
import { type AgentSession, endReasonOf } from './session.ts'
import { holderOf } from './session-rows.ts'

/**
 * Claims a scope for a session; claiming its own scope again changes only the task. Throws
 * `conflict` that names the holder and its expiry, and for more scopes than one session may hold.
 */
export const claimScope = async (
  trx: Trx,
  session: AgentSession,
  { scope, taskId }: { scope: string; taskId: string | undefined },
  { at, most }: { at: number; most: number },
): Promise<void> => {
  const { tenantId, id } = session
  const holder = await holderOf(trx, tenantId, scope)
  if (holder?.id === id) return retask(trx, session, scope, taskId)
  if (holder !== undefined) {
    if (endReasonOf(holder, at) === undefined) throw createScopeHeldError(holder, scope)
    await freeClaims(trx, holder.id)
  }
  if (session.claims.length >= most)
    throw new ShoalError('conflict', `session ${id} holds ${most} scopes, the most for one session`)
  const row = {
    tenant_id: tenantId,
    scope,
    session_id: id,
    task_id: taskId ?? null,
    task_state: null,
  }
  try {
    await trx
      .insertInto('agent_claims')
      .values({ ...row, claimed_at: at })
      .execute()
  } catch (error) {
    if (breaksConstraint(error))
      throw new ShoalError('conflict', `${scope} was just claimed by another`)
    throw error
  }
}

const retask = async (
  trx: Trx,
  { id }: AgentSession,
  scope: string,
  taskId: string | undefined,
): Promise<void> => {
  if (taskId === undefined) return
  await trx
    .updateTable('agent_claims')
    .set({ task_id: taskId, task_state: null })
    .where('session_id', '=', id)
    .where('scope', '=', scope)
    .where('task_id', 'is distinct from', taskId)
    .execute()
}

const createScopeHeldError = (
  { agentId, personId, idleAt }: AgentSession,
  scope: string,
): ShoalError => {
  const until = new Date(idleAt).toISOString()
  return new ShoalError(
    'conflict',
    `${scope} is held by ${agentId} of ${personId}, until ${until} unless that session extends it`,
  )
}
