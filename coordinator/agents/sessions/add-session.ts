import { ShoalError } from '../../../shared/errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import type { Trx } from '../../access/gates/asking.ts'
import { appendAudit } from '../../kernel/audit/audit.ts'
import type { Caller } from '../../kernel/declaration/caller.ts'
import type { EntityOf } from '../../kernel/store/define-table.ts'
import { agentSessionTable } from './agent-session.table.ts'
import type { AgentsConfig } from './config.ts'
import { type DockRequest, requireAlone, requireSupervisor } from './docking.ts'
import { type EndedSession, endDue } from './ending.ts'
import type { AgentSession } from './session.ts'
import { countLive, readSession, readSessions } from './session-rows.ts'

interface NewSession {
  request: DockRequest
  roles: readonly string[]
  caller: Caller
  at: number
}

interface SessionMaking {
  config: AgentsConfig
  runtime: Pick<Runtime, 'ids'>
}

/**
 * Docks an agent inside a transaction, with its audit row; also returns the sessions that have
 * expired meanwhile. Throws `conflict` for an agent that must be alone and when the tenant has
 * enough sessions.
 */
export const addSession = async (
  trx: Trx,
  session: NewSession,
  { config, runtime }: SessionMaking,
): Promise<{ made: AgentSession; ended: EndedSession[] }> => {
  const { request, roles, caller, at } = session
  const { tenantId, person } = caller
  const { agentId } = request
  const ended = await endDue(trx, at, tenantId)
  const live = await readSessions(trx, { tenantId, agentId, liveAt: at, limit: 10_000 })
  requireAlone(request, live, person.personId)
  await requireSupervisor(trx, request.supervisorId, caller, at)
  if ((await countLive(trx, tenantId, at)) >= config.sessions_per_tenant)
    throw new ShoalError(
      'conflict',
      `${config.sessions_per_tenant} sessions are live in this tenant; one must undock first`,
    )
  const docked = createSession(session, runtime.ids.create('session', at), config)
  await trx.insertInto('agent_sessions').values(agentSessionTable.write(docked)).execute()
  await appendAudit(trx, {
    ...caller.by,
    at,
    tenant: tenantId,
    action: 'session.dock',
    subject: docked.id,
    outcome: 'done',
    details: {
      agent: agentId,
      agent_type: request.agentType,
      person: person.personId,
      roles,
      variant: request.variant,
      supervisor: request.supervisorId ?? null,
    },
  })
  return { made: await readSession(trx, docked.id, tenantId), ended }
}

const createSession = (
  { request, roles, caller: { tenantId, person }, at }: NewSession,
  id: string,
  { session_idle_minutes, session_hours }: AgentsConfig,
): EntityOf<typeof agentSessionTable> => {
  const expiresAt = at + session_hours * 3_600_000
  const { agentId, agentType, variant, profileId, supervisorId } = request
  return {
    id,
    tenantId,
    personId: person.personId,
    keyId: person.keyId,
    kind: person.kind,
    agentId,
    agentType,
    roles: [...roles],
    variant,
    profileId,
    supervisorId,
    step: 'dock',
    waiting: undefined,
    lastSkill: undefined,
    dockedAt: at,
    seenAt: at,
    idleAt: Math.min(at + session_idle_minutes * 60_000, expiresAt),
    expiresAt,
    endedAt: undefined,
    outcome: undefined,
  }
}
