import { ShoalError } from '../../shared/errors.ts'

/** How many of the live coordinators one plane of the cell is connected to. */
export interface Coverage {
  connected: number
  live: number
}

export const isComplete = ({ connected, live }: Coverage): boolean => connected >= live

/** Text for operators, such as `2 of 3 coordinators connected`. */
export const describeCoverage = ({ connected, live }: Coverage): string =>
  `${connected} of ${live} coordinators connected`

/** Reason in the health view of a plane without any connection. */
export const describeLoss = (error: Error): string =>
  error instanceof ShoalError && error.code === 'auth_required'
    ? `the coordinator refuses this cell's credential (${error.message}); it may be revoked`
    : error.message
