import Sqlite from 'better-sqlite3'
import type { Dialect } from 'kysely'
import type { DatabaseDefinition } from '../engine.ts'
import { createSqliteDialect } from './dialect.ts'
import { translateFaults } from './sqlite-faults.ts'

interface Connection {
  dialect: Dialect
  /** Changes when another connection has committed to the file (PRAGMA data_version). */
  dataVersion(): number
  /** A lock of another process is a failure at once from now on: the caller waits by itself. */
  disableBusyTimeout(): void
  /** Number of pages in the log that are not in the database file yet; 0 when that is unknown now. */
  countLogPages(): number
  /** Kysely itself closes only what it has used. */
  close(): void
}

const LOCK_WAIT_MS = 5000
/**
 * Cache size of each of four connections. The default of better-sqlite3 is 16,000, but the
 * operating system caches the files too.
 */
const CACHE_KIB = 2048

/**
 * Length of the log at which a commit checkpoints it itself, 64 MiB: only when `Checkpointer` does
 * not keep up.
 */
const LAST_RESORT_PAGES = 16_384

/** sqlite.org/pragma.html#pragma_synchronous */
const SYNCHRONOUS = { power_loss: 'full', process_end: 'normal' } as const

/**
 * One connection. A reader cannot write. Both wait for the lock of another process, which stops
 * the event loop: good while opening, see `disableBusyTimeout`.
 */
export const connect = (
  path: string,
  role: 'reader' | 'writer',
  survives: DatabaseDefinition<unknown>['survives'],
): Connection => {
  const database = translateFaults(() => new Sqlite(path, { timeout: LOCK_WAIT_MS }))
  const pragma = (text: string) => translateFaults(() => database.pragma(text, { simple: true }))
  try {
    pragma('journal_mode = wal')
    pragma(`synchronous = ${SYNCHRONOUS[survives]}`)
    pragma('foreign_keys = on')
    // what is erased must not stay in free pages (sqlite.org/pragma.html#pragma_secure_delete)
    pragma('secure_delete = on')
    pragma(`cache_size = -${CACHE_KIB}`)
    pragma(`wal_autocheckpoint = ${LAST_RESORT_PAGES}`)
    if (role === 'reader') pragma('query_only = on')
  } catch (error) {
    database.close()
    throw error
  }
  return {
    dialect: createSqliteDialect(database),
    dataVersion: () => pragma('data_version') as number,
    countLogPages: () => countLogPages(database),
    disableBusyTimeout: () => pragma('busy_timeout = 0'),
    close: () => database.close(),
  }
}

/** sqlite.org/pragma.html#pragma_wal_checkpoint; `noop` only counts. */
const countLogPages = (database: Sqlite.Database): number => {
  try {
    const [row] = database.pragma('wal_checkpoint(noop)') as { log: number; checkpointed: number }[]
    return row === undefined ? 0 : row.log - row.checkpointed
  } catch {
    return 0
  }
}
