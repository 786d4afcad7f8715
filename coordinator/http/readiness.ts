import { ShoalError } from '../../shared/errors.ts'

export interface Readiness {
  draining: () => boolean
  brokerConnected: () => boolean
  /** Why the store cannot be relied on now. */
  storeProblem: () => string | undefined
}

const AGAIN = { retryAfterSeconds: 5 }

/** Why no request should come here now; undefined when it may. */
export const notReady = (parts: Readiness): ShoalError | undefined => {
  if (parts.draining()) return new ShoalError('draining', 'the coordinator is stopping', AGAIN)
  if (!parts.brokerConnected())
    return new ShoalError(
      'broker_unavailable',
      'the broker is unreachable: no messages from cells and no commands to them',
      AGAIN,
    )
  const problem = parts.storeProblem()
  return problem === undefined ? undefined : new ShoalError('store_unavailable', problem, AGAIN)
}
