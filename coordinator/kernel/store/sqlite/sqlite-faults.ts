import Sqlite from 'better-sqlite3'
import { type FaultKind, StoreFault, storeUnavailable } from '../faults.ts'

/** Result codes by their beginning (sqlite.org/rescode.html). The file is unusable after these. */
const UNUSABLE: readonly [code: string, kind: FaultKind][] = [
  ['SQLITE_FULL', 'full'],
  ['SQLITE_READONLY', 'read_only'],
  ['SQLITE_BUSY', 'conflict'],
  ['SQLITE_LOCKED', 'conflict'],
  ['SQLITE_CORRUPT', 'damaged'],
  ['SQLITE_NOTADB', 'damaged'],
  ...['IOERR', 'CANTOPEN', 'NOMEM', 'PROTOCOL', 'PERM'].map((name): [string, FaultKind] => [
    `SQLITE_${name}`,
    'unavailable',
  ]),
]

/** A row breaks these; the others of SQLITE_CONSTRAINT are faults of the program. */
const BROKEN: readonly [code: string, kind: FaultKind][] = [
  ['SQLITE_CONSTRAINT_UNIQUE', 'unique'],
  ['SQLITE_CONSTRAINT_PRIMARYKEY', 'unique'],
  ['SQLITE_CONSTRAINT_ROWID', 'unique'],
  ['SQLITE_CONSTRAINT_FOREIGNKEY', 'reference'],
]

/** Calls SQLite; its errors are thrown as the faults of the port. */
export const translateFaults = <R>(call: () => R): R => {
  try {
    return call()
  } catch (error) {
    throw error instanceof Sqlite.SqliteError ? faultFrom(error) : error
  }
}

const faultFrom = (error: InstanceType<typeof Sqlite.SqliteError>): Error => {
  const { code, message } = error
  const broken = kindIn(BROKEN, code)
  if (broken !== undefined) return new StoreFault(broken, message, error)
  const kind = kindIn(UNUSABLE, code)
  if (kind === undefined) return error
  const fault = new StoreFault(kind, message, error)
  return storeUnavailable(`${describe(kind)} (${code})`, fault)
}

const describe = (kind: FaultKind): string => {
  // a retry resolves every other fault in time, but not this one
  if (kind === 'damaged') return 'the store is damaged'
  return `the store cannot be used now${kind === 'full' ? ': its disk is full' : ''}`
}

const kindIn = (
  table: readonly [code: string, kind: FaultKind][],
  code: string,
): FaultKind | undefined => table.find(([prefix]) => code.startsWith(prefix))?.[1]
