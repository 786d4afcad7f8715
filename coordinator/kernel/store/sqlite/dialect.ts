import type Sqlite from 'better-sqlite3'
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  SqliteAdapter,
  type SqliteDatabase,
  SqliteDriver,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type SqliteStatement,
} from 'kysely'
import type { ScanThread } from './scan-thread.ts'
import { translateFaults } from './sqlite-faults.ts'

const CACHED_STATEMENTS = 256

/** Kysely over one connection, with failures translated and statements kept prepared. */
export const createSqliteDialect = (database: Sqlite.Database): Dialect => ({
  createDriver: () => new ImmediateDriver(database),
  createAdapter: () => new TransactionalAdapter(),
  createQueryCompiler: () => new SqliteQueryCompiler(),
  createIntrospector: db => new SqliteIntrospector(db),
})

/** Kysely over a thread that only reads, without transactions. */
export const createThreadDialect = (thread: Pick<ScanThread, 'read'>): Dialect => ({
  createDriver: () => new ThreadDriver(thread),
  createAdapter: () => new SqliteAdapter(),
  createQueryCompiler: () => new SqliteQueryCompiler(),
  createIntrospector: db => new SqliteIntrospector(db),
})

class ThreadDriver implements Driver {
  readonly #connection: DatabaseConnection

  constructor(thread: Pick<ScanThread, 'read'>) {
    this.#connection = {
      executeQuery: async <R>({ sql, parameters }: CompiledQuery) => ({
        rows: (await thread.read(sql, parameters)) as R[],
      }),
      streamQuery: () => {
        throw new Error('a scan is not streamed')
      },
    }
  }

  async init(): Promise<void> {}
  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection
  }
  async beginTransaction(): Promise<never> {
    throw new Error('a scan has no transaction')
  }
  async commitTransaction(): Promise<void> {}
  async rollbackTransaction(): Promise<void> {}
  async releaseConnection(): Promise<void> {}
  async destroy(): Promise<void> {}
}

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
    if (this.#database.inTransaction) translateFaults(() => this.#database.exec('rollback'))
    translateFaults(() => this.#database.exec('begin immediate'))
  }

  override async commitTransaction(): Promise<void> {
    translateFaults(() => this.#database.exec('commit'))
  }

  /**
   * Rolls back unless SQLite already has, as it does after some failures
   * (sqlite.org/lang_transaction.html). Must not throw, or Kysely never releases the connection;
   * the next begin retries the rollback.
   */
  override async rollbackTransaction(): Promise<void> {
    try {
      if (this.#database.inTransaction) this.#database.exec('rollback')
    } catch {}
  }
}

/** Prepared statements by their text, oldest dropped first; kysely prepares each one again. */
const statementCache = (database: Sqlite.Database): SqliteDatabase => {
  const statements = new Map<string, SqliteStatement>()
  const prepare = (text: string): SqliteStatement => {
    const statement = database.prepare<unknown[]>(text)
    return {
      reader: statement.reader,
      all: values => translateFaults(() => statement.all(values)),
      run: values => translateFaults(() => statement.run(values)),
      iterate: values => statement.iterate(values),
    }
  }
  return {
    close: () => database.close(),
    prepare: text => {
      const known = statements.get(text)
      if (known !== undefined) return known
      const made = translateFaults(() => prepare(text))
      statements.set(text, made)
      const oldest = statements.keys().next().value
      if (statements.size > CACHED_STATEMENTS && oldest !== undefined) statements.delete(oldest)
      return made
    },
  }
}
