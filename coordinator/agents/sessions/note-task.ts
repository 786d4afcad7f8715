import { ShoalError } from '../../../shared/errors.ts'
import type { Trx } from '../../access/gates/asking.ts'
import { appendAudit } from '../../kernel/audit/audit.ts'
import type { Caller } from '../../kernel/declaration/caller.ts'
import { type AgentSession, type AgentTaskState, endReasonOf } from './session.ts'
import { holderOf, readSession } from './session-rows.ts'
import { isOwn } from './step.ts'

export interface TaskNote {
  /** Name of the task given by the caller, such as `API-12`. */
  taskId: string
  scope: string
  state: AgentTaskState
}

/**
 * Records the progress of the task for which a live session of the caller holds a scope. This
 * renews the session but is not a step. Throws `not_found` when no session of this person holds the
 * scope.
 */
export const noteTask = async (
  trx: Trx,
  { taskId, scope, state }: TaskNote,
  caller: Caller,
  { at, idleMs }: { at: number; idleMs: number },
): Promise<AgentSession> => {
  const { tenantId } = caller
  const session = await holderOf(trx, tenantId, scope)
  if (session === undefined || !isOwn(session, caller) || endReasonOf(session, at) !== undefined)
    throw new ShoalError('not_found', 'no live session of yours holds this scope', {
      param: 'scope',
      next: 'shoal session start',
    })
  const { id, agentId, expiresAt } = session
  await trx
    .updateTable('agent_claims')
    .set({ task_id: taskId, task_state: state })
    .where('tenant_id', '=', tenantId)
    .where('scope', '=', scope)
    .execute()
  await trx
    .updateTable('agent_sessions')
    .set({ seen_at: at, idle_at: Math.min(at + idleMs, expiresAt) })
    .where('id', '=', id)
    .execute()
  await appendAudit(trx, {
    ...caller.by,
    at,
    tenant: tenantId,
    action: 'session.task',
    subject: id,
    outcome: 'done',
    details: { agent: agentId, person: caller.person.personId, scope, task: taskId, state },
  })
  return readSession(trx, id, tenantId)
}
