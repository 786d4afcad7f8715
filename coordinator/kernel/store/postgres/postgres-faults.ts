import { DatabaseError } from 'pg'
import { ShoalError } from '../../../../shared/errors.ts'
import { type FaultKind, StoreFault, storeUnavailable } from '../faults.ts'

/** SQLSTATE codes by their beginning (postgresql.org/docs/15/errcodes-appendix.html). */
const UNUSABLE: readonly [state: string, kind: FaultKind][] = [
  ['40001', 'conflict'],
  ['40P01', 'conflict'],
  // lock_timeout has run out
  ['55P03', 'conflict'],
  ['25006', 'read_only'],
  // the session was idle for too long inside a transaction
  ['25P03', 'lost'],
  // the transaction was lost before this statement, or its role may not write
  ['25', 'unavailable'],
  ['42501', 'unavailable'],
  ['53100', 'full'],
  ['XX001', 'damaged'],
  ['XX002', 'damaged'],
  // the server is being stopped
  ['08', 'lost'],
  ['57P01', 'lost'],
  ['57P02', 'lost'],
  // out of resources, cancelled by a time limit or by an administrator
  ...['28', '3D', '53', '57', '58'].map((state): [string, FaultKind] => [state, 'unavailable']),
]

/** Wrong user, password, database or rights: what the server says of them tells what to mend. */
const REFUSED = ['28', '3D', '42501']

/**
 * SQLSTATE classes of a server that is out of resources, starting or stopping: the message quotes
 * no row, and says which.
 */
const SAYING = /^5[378]/

const BROKEN: readonly [state: string, kind: FaultKind][] = [
  ['23505', 'unique'],
  ['23503', 'reference'],
]

/** Text that cannot be stored, in a parameter or in JSON. */
const WRONG_TEXT = ['22021', '22P05', '22P02']

const OUT_OF_RANGE = '22003'

/** Removes the details of the server's error, which quote the row: errors are logged whole. */
const hideRows = (error: DatabaseError): void => {
  for (const name of ['detail', 'where', 'internalQuery'] as const) delete error[name]
}

/** Calls the driver; its errors are thrown as the faults of the port. */
export const translatePostgresFaults = async <R>(call: () => Promise<R>): Promise<R> => {
  try {
    return await call()
  } catch (error) {
    throw faultFrom(error as Error)
  }
}

/**
 * True when PostgreSQL refuses the plan of a prepared statement because another version has changed
 * the type of a column. The server may translate its message.
 */
const isStalePlan = ({ routine }: DatabaseError): boolean => routine === 'RevalidateCachedQuery'

const faultFrom = (error: Error): Error => {
  if (!(error instanceof DatabaseError)) return createLostConnectionError(error)
  hideRows(error)
  const { code = '', message } = error
  if (code === OUT_OF_RANGE)
    return new ShoalError('invalid_request', 'a number is too large to be stored')
  if (WRONG_TEXT.includes(code))
    return new ShoalError(
      'invalid_request',
      'text with a NUL character or half a surrogate pair cannot be stored',
    )
  const broken = kindIn(BROKEN, code)
  if (broken !== undefined) return new StoreFault(broken, message, error)
  const kind = isStalePlan(error) ? 'outdated' : kindIn(UNUSABLE, code)
  if (kind === undefined) return error
  if (REFUSED.some(state => code.startsWith(state)))
    return storeUnavailable(`PostgreSQL refused: ${message}`, new StoreFault(kind, message, error))
  const why = kind === 'full' ? ': its disk is full' : SAYING.test(code) ? `: ${message}` : ''
  const fault = new StoreFault(kind, message, error)
  return storeUnavailable(`the store cannot be used now${why} (${code})`, fault)
}

/** The driver says so when it finds none, by no class of its own. */
const NO_PASSWORD = /client password must be/
const WITHOUT_PASSWORD =
  'PostgreSQL requires a password, and none is configured: name its file in store.password_file, set PGPASSWORD, or add the database to ~/.pgpass of this user'

/** The driver gives a lost connection or a time limit no class of its own. */
const createLostConnectionError = (error: Error): Error => {
  if (NO_PASSWORD.test(error.message))
    return storeUnavailable(
      WITHOUT_PASSWORD,
      new StoreFault('unavailable', WITHOUT_PASSWORD, error),
    )
  const { code = 'no answer' } = error as NodeJS.ErrnoException
  const fault = new StoreFault('lost', error.message, error)
  return storeUnavailable(`the store cannot be reached (${code})`, fault)
}

/** The error for a connection that was lost before. */
export const createLostError = (): Error => {
  const message = 'the connection to the database was lost'
  return storeUnavailable(message, new StoreFault('lost', message, undefined))
}

const kindIn = (
  table: readonly [state: string, kind: FaultKind][],
  code: string,
): FaultKind | undefined => table.find(([prefix]) => code.startsWith(prefix))?.[1]
