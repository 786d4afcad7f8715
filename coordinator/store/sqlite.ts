import Sqlite from 'better-sqlite3'
import {
  type Dialect,
  type Kysely,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type SqliteStatement,
  sql,
} from 'kysely'
import { ShoalError } from '../../shared/errors.ts'

/*
 * Everything that is SQLite's own stands in this file: pragmas, result codes, locking, triggers.
 */

export interface Connection {
  dialect: Dialect
  /** Changes when another connection has committed to the file (PRAGMA data_version). */
  dataVersion(): number
  pragma(text: string): unknown
  /** From now on a lock of another process is a failure at once: the caller waits, see `isBusy`. */
  beImpatient(): void
  /** Kysely itself closes only what it has used. */
  close(): void
}

const LOCK_WAIT_MS = 5000
const CACHED_STATEMENTS = 256
/** Of each of the four connections; better-sqlite3 has 16,000, and the system caches the files too. */
const CACHE_KIB = 2048

/** `full` survives loss of power, `normal` only that of the process (sqlite.org/pragma.html). */
export type Synchronous = 'full' | 'normal'

/**
 * One connection. A reader cannot write. Both wait for the lock of another process, which stops
 * the event loop: good while opening, see `beImpatient`.
 */
export const connect = (
  path: string,
  role: 'reader' | 'writer',
  synchronous: Synchronous,
): Connection => {
  const database = translated(() => new Sqlite(path, { timeout: LOCK_WAIT_MS }))
  const pragma = (text: string) => translated(() => database.pragma(text, { simple: true }))
  try {
    pragma('journal_mode = wal')
    pragma(`synchronous = ${synchronous}`)
    pragma('foreign_keys = on')
    pragma(`cache_size = -${CACHE_KIB}`)
    if (role === 'reader') pragma('query_only = on')
  } catch (error) {
    database.close()
    throw error
  }
  return {
    dialect: dialectOf(database),
    dataVersion: () => pragma('data_version') as number,
    pragma,
    beImpatient: () => pragma('busy_timeout = 0'),
    close: () => database.close(),
  }
}

/** True for the failure of a lock that another process holds: worth trying again soon. */
export const isBusy = (error: unknown): boolean =>
  error instanceof ShoalError && startsWith(error.cause, ['SQLITE_BUSY'])

/** True when a row breaks a unique index, a primary key or a foreign key. */
export const isConflict = (error: unknown): boolean => startsWith(error, ['SQLITE_CONSTRAINT'])

/** Refuses UPDATE and DELETE on a table from now on. */
export const makeAppendOnly = async (db: Kysely<unknown>, table: string): Promise<void> => {
  for (const verb of ['update', 'delete']) {
    await sql`create trigger ${sql.ref(`${table}_no_${verb}`)}
      before ${sql.raw(verb)} on ${sql.table(table)}
      begin select raise(abort, ${sql.lit(`${table} is append-only`)}); end`.execute(db)
  }
}

/** From now on rows up to the number in the one row of another table may be deleted, no others. */
export const allowPurge = async (
  db: Kysely<unknown>,
  { table, upTo }: { table: string; upTo: string },
): Promise<void> => {
  await sql`drop trigger ${sql.ref(`${table}_no_delete`)}`.execute(db)
  await sql`create trigger ${sql.ref(`${table}_no_delete`)}
    before delete on ${sql.table(table)}
    when not exists (select 1 from ${sql.table(upTo)} where seq >= old.seq)
    begin select raise(abort, ${sql.lit(`${table} is append-only`)}); end`.execute(db)
  await sql`create trigger ${sql.ref(`${upTo}_no_delete`)}
    before delete on ${sql.table(upTo)}
    begin select raise(abort, ${sql.lit(`${upTo} stays`)}); end`.execute(db)
  await sql`create trigger ${sql.ref(`${upTo}_only_up`)}
    before update on ${sql.table(upTo)} when new.seq <= old.seq
    begin select raise(abort, ${sql.lit(`${upTo} only goes up`)}); end`.execute(db)
}

/** Names of the triggers of a table. */
export const triggersOf = async <T>(db: Kysely<T>, table: string): Promise<string[]> => {
  const found = await sql<{ name: string }>`select name from sqlite_master
    where type = 'trigger' and tbl_name = ${table}`.execute(db)
  return found.rows.map(({ name }) => name)
}

type SqliteError = InstanceType<typeof Sqlite.SqliteError>

/** The file as a whole is not usable now: full, unreadable, read-only, locked or damaged. */
const UNAVAILABLE = ['FULL', 'IOERR', 'READONLY', 'BUSY', 'LOCKED', 'CANTOPEN', 'CORRUPT', 'NOTADB']
  .concat('NOMEM', 'PROTOCOL', 'PERM')
  .map(name => `SQLITE_${name}`)

const RETRY_AFTER_SECONDS = 5

const translated = <R>(call: () => R): R => {
  try {
    return call()
  } catch (error) {
    if (!startsWith(error, UNAVAILABLE)) throw error
    const why = error.code === 'SQLITE_FULL' ? ': its disk is full' : ''
    throw new ShoalError(
      'store_unavailable',
      `the store cannot be used now${why} (${error.code})`,
      {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
        cause: error,
      },
    )
  }
}

const startsWith = (error: unknown, prefixes: string[]): error is SqliteError =>
  error instanceof Sqlite.SqliteError && prefixes.some(prefix => error.code.startsWith(prefix))

const dialectOf = (database: Sqlite.Database): Dialect => ({
  createDriver: () => new ImmediateDriver(database),
  createAdapter: () => new TransactionalAdapter(),
  createQueryCompiler: () => new SqliteQueryCompiler(),
  createIntrospector: db => new SqliteIntrospector(db),
})

/** SQLite's schema changes are transactional, so that a migration happens as a whole or not. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): true {
    return true
  }
}

/** Takes the write lock at once: a lock that is upgraded later can fail in the middle. */
class ImmediateDriver extends SqliteDriver {
  readonly #database: Sqlite.Database

  constructor(database: Sqlite.Database) {
    super({ database: statementCache(database) })
    this.#database = database
  }

  override async beginTransaction(): Promise<void> {
    if (this.#database.inTransaction) translated(() => this.#database.exec('rollback'))
    translated(() => this.#database.exec('begin immediate'))
  }

  override async commitTransaction(): Promise<void> {
    translated(() => this.#database.exec('commit'))
  }

  /**
   * After some failures SQLite has rolled back by itself (sqlite.org/lang_transaction.html). Must
   * not throw, or kysely keeps the connection for ever; the next begin would try again.
   */
  override async rollbackTransaction(): Promise<void> {
    try {
      if (this.#database.inTransaction) this.#database.exec('rollback')
    } catch {}
  }
}

/** Prepared statements by their text, oldest dropped first; kysely prepares anew each time. */
const statementCache = (database: Sqlite.Database): SqliteDatabase => {
  const statements = new Map<string, SqliteStatement>()
  const prepare = (text: string): SqliteStatement => {
    const statement = database.prepare<unknown[]>(text)
    return {
      reader: statement.reader,
      all: values => translated(() => statement.all(values)),
      run: values => translated(() => statement.run(values)),
      iterate: values => statement.iterate(values),
    }
  }
  return {
    close: () => database.close(),
    prepare: text => {
      const known = statements.get(text)
      if (known !== undefined) return known
      const made = translated(() => prepare(text))
      statements.set(text, made)
      const oldest = statements.keys().next().value
      if (statements.size > CACHED_STATEMENTS && oldest !== undefined) statements.delete(oldest)
      return made
    },
  }
}
