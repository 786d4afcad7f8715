import { ShoalError } from '../../../shared/errors.ts'

interface Readiness {
  isLeaving: () => boolean
  brokerConnected: () => boolean
  /** Reason why the store is unreliable now. */
  storeProblem: () => string | undefined
  /** True when cells are connected to other coordinators only. */
  lacksCells: () => boolean
}

const AGAIN = { retryAfterSeconds: 5 }

/** Reason why requests should go elsewhere; undefined when ready. */
export const findReadinessFault = (parts: Readiness): ShoalError | undefined => {
  if (parts.isLeaving()) return new ShoalError('draining', 'the coordinator is stopping', AGAIN)
  if (!parts.brokerConnected())
    return new ShoalError(
      'broker_unavailable',
      'the broker is unreachable: no messages from cells and no commands to them',
      AGAIN,
    )
  const problem = parts.storeProblem()
  if (problem !== undefined) return new ShoalError('store_unavailable', problem, AGAIN)
  return parts.lacksCells()
    ? new ShoalError(
        'cell_unavailable',
        'no cell is connected to this coordinator, and another one has cells: cells must reach replica.address',
        AGAIN,
      )
    : undefined
}
