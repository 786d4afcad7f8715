import { ShoalError } from '../../../shared/errors.ts'

/**
 * Meaning of a failure of the database, whichever engine reports it. `conflict` is a collision with
 * another transaction: the same work may succeed when it is tried again, as it may after `lost`, a
 * connection that ended before the commit was sent, and after `outdated`, when another version has
 * changed a table that a prepared statement reads. After an `uncertain` one nobody knows whether
 * the change was made. A database that is `away` does not answer at all, and one that is
 * `unavailable` refuses. `damaged` data must be restored.
 */
export type FaultKind =
  | 'unique'
  | 'reference'
  | 'conflict'
  | 'outdated'
  | 'full'
  | 'read_only'
  | 'damaged'
  | 'lost'
  | 'uncertain'
  | 'away'
  | 'unavailable'

/** A failure as an engine has classified it; the error of its driver is the cause. */
export class StoreFault extends Error {
  readonly kind: FaultKind

  constructor(kind: FaultKind, message: string, cause: unknown) {
    super(message, { cause })
    this.kind = kind
  }
}

const RETRY_AFTER_SECONDS = 5

/** The error for callers while the database as a whole cannot be used. */
export const storeUnavailable = (
  message: string,
  fault: unknown,
  retryAfterSeconds = RETRY_AFTER_SECONDS,
): ShoalError =>
  new ShoalError('store_unavailable', message, {
    retryAfterSeconds,
    cause: fault,
  })

/** Undefined for an error that is not the database's. */
export const faultOf = (error: unknown): FaultKind | undefined => {
  if (error instanceof StoreFault) return error.kind
  return error instanceof ShoalError && error.cause instanceof StoreFault
    ? error.cause.kind
    : undefined
}

/** True when a row breaks a unique index, a primary key or a foreign key. */
export const breaksConstraint = (error: unknown): boolean =>
  ['unique', 'reference'].includes(faultOf(error) ?? '')

const LOSING: readonly string[] = [
  'conflict',
  'outdated',
  'full',
  'read_only',
  'damaged',
  'lost',
  'uncertain',
  'away',
  'unavailable',
]

/** True when the transaction as a whole is lost, not just one statement of it. */
export const losesTransaction = (error: unknown): boolean => LOSING.includes(faultOf(error) ?? '')

const OUTAGES: readonly string[] = ['lost', 'uncertain', 'away']

/** True for a failure that an outage of the database explains, which is reported once as a whole. */
export const isOutage = (error: unknown): boolean => OUTAGES.includes(faultOf(error) ?? '')

const DISK_FAULTS: readonly string[] = ['full', 'read_only', 'damaged', 'unavailable']

/** True for a failure of the disk, which every later write will meet as well. */
export const isDiskFault = (error: unknown): boolean => DISK_FAULTS.includes(faultOf(error) ?? '')
