import type { GateRequest, RequestState } from '../../kernel/declaration/gate-request.ts'
import type { GateDefinition } from './definition.ts'

/** Returns the state as of now: an overdue request is expired even before it is marked so. */
export const stateAt = (
  request: Pick<GateRequest, 'state' | 'expiresAt' | 'approvalExpiresAt'>,
  now: number,
): RequestState => {
  const { state, expiresAt, approvalExpiresAt = Number.NEGATIVE_INFINITY } = request
  if (state === 'pending' && now >= expiresAt) return 'expired'
  if (state === 'approved' && now >= approvalExpiresAt) return 'expired'
  return state
}

type PublicStatus = 'approved' | 'pending' | 'blocked'

/**
 * Status as reported to clients (interface specification, section 3); the reason distinguishes the
 * ends.
 */
export const publicStatus = (state: RequestState): PublicStatus =>
  state === 'approved' || state === 'pending' ? state : 'blocked'

/** Unix time at which a request at this gate expires without approval. */
export const requestEnd = ({ request_minutes }: GateDefinition, now: number): number =>
  now + request_minutes * 60_000

/** Unix time at which an approval given now expires. */
export const approvalEnd = ({ approval_minutes }: GateDefinition, now: number): number =>
  now + approval_minutes * 60_000
