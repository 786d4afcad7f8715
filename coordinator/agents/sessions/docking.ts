import { ShoalError } from '../../../shared/errors.ts'
import type { Caller } from '../../kernel/declaration/caller.ts'
import type { AgentsConfig } from './config.ts'
import { DEFAULT_ROLE, rolesIn } from './roles.ts'
import { type AgentSession, type AgentType, endReasonOf, type Variant } from './session.ts'
import { findSession, noSession, type Reader } from './session-rows.ts'

/** Properties that an agent requests for its session. */
export interface DockRequest {
  agentId: string
  agentType: AgentType
  /** Role, or several roles separated by commas. */
  role: string
  variant: Variant
  profileId: string | undefined
  supervisorId: string | undefined
}

export const DOCK_DEFAULTS = {
  agentType: 'ai_agent',
  role: DEFAULT_ROLE,
  variant: 'solo',
} as const satisfies Partial<DockRequest>

/**
 * Returns the request with values left at their default taken from its profile. Throws
 * `invalid_request` for an unknown profile.
 */
export const withProfile = (
  request: DockRequest,
  profiles: AgentsConfig['profiles'],
): DockRequest => {
  const { profileId } = request
  if (profileId === undefined) return request
  const profile = Object.hasOwn(profiles, profileId) ? profiles[profileId] : undefined
  if (profile === undefined) {
    const all = Object.keys(profiles).join(', ')
    const message = `there is no profile ${JSON.stringify(profileId)}; there are ${all}`
    throw new ShoalError('invalid_request', message, { param: 'profile_id' })
  }
  const { agentType, role, variant } = request
  return {
    ...request,
    agentType:
      agentType === DOCK_DEFAULTS.agentType ? (profile.agent_type ?? agentType) : agentType,
    role: role === DOCK_DEFAULTS.role ? (profile.role ?? role) : role,
    variant: variant === DOCK_DEFAULTS.variant ? (profile.variant ?? variant) : variant,
  }
}

/**
 * Returns the ids of the roles after checking that roles, variant and supervisor fit each other.
 */
export const listFittingRoles = ({ role, variant, supervisorId }: DockRequest): string[] => {
  const ids = rolesIn(role).map(({ id }) => id)
  if (ids.length > 1 && variant !== 'v1_multi_role')
    throw createRequestError('role', `several roles need variant v1_multi_role, not ${variant}`)
  const supervised = variant === 'v3_supervised'
  if (supervised && supervisorId === undefined)
    throw createRequestError('supervisor', 'supervisor is missing: variant v3_supervised needs one')
  if (!supervised && supervisorId !== undefined)
    throw createRequestError(
      'supervisor',
      `only variant v3_supervised has a supervisor, not ${variant}`,
    )
  return ids
}

const createRequestError = (param: string, message: string): ShoalError =>
  new ShoalError('invalid_request', message, { param })

/**
 * Returns the supervisor session: a live session in the tenant that another person has docked with
 * a key of kind person, since a program must not supervise a program. Throws `not_found`,
 * `forbidden` or `conflict`.
 */
export const requireSupervisor = async (
  db: Reader,
  supervisorId: string | undefined,
  { tenantId, person }: Caller,
  now: number,
): Promise<void> => {
  if (supervisorId === undefined) return
  const supervisor = (await findSession(db, supervisorId, tenantId)) ?? noSession(supervisorId)
  if (supervisor.personId === person.personId)
    throw new ShoalError('forbidden', 'a supervisor is a session of another person', {
      param: 'supervisor',
    })
  if (supervisor.kind !== 'person')
    throw new ShoalError('forbidden', `a key of kind ${supervisor.kind} cannot supervise`, {
      param: 'supervisor',
    })
  requireLive(supervisor, now)
}

/** Throws `conflict` when the session is over. */
export const requireLive = (session: AgentSession, now: number): void => {
  const over = endReasonOf(session, now)
  if (over !== undefined) throw new ShoalError('conflict', `session ${session.id} is over: ${over}`)
}

/**
 * Allows one live session per agent, unless all of them are `v2_parallel`. Throws `conflict`, which
 * names the live session to its owner.
 */
export const requireAlone = (
  { agentId, variant }: DockRequest,
  live: readonly AgentSession[],
  personId: string,
): void => {
  const other = live.find(each => variant !== 'v2_parallel' || each.variant !== 'v2_parallel')
  if (other === undefined) return
  const whose = other.personId === personId ? 'of yours' : `of ${other.personId}`
  const parallel =
    variant === 'v2_parallel'
      ? `that one is ${other.variant}`
      : 'several at once need variant v2_parallel'
  throw new ShoalError(
    'conflict',
    `${agentId} has the live session ${other.id} ${whose}, at ${other.step}; ${parallel}`,
  )
}
