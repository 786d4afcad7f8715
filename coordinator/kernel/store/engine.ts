import type { Insertable, Kysely, RawBuilder, Transaction } from 'kysely'
import type { Logger } from 'pino'
import type { Runtime } from '../../../shared/runtime.ts'
import type { LaneName, Lanes } from './lanes.ts'
import type { StoreMigration } from './store-migration.ts'

/**
 * Engine of the two databases. The layers above it are portable between engines: SQL that SQLite
 * and PostgreSQL both understand, `bigint` columns that read as numbers, failures as `StoreFault`.
 */
export interface StoreEngine {
  readonly schema: EngineSchema
  /** True where coordinators on several machines may share the databases. */
  readonly isShared: boolean
  /** Opens or makes a database and brings its schema up to date. */
  open<T>(definition: DatabaseDefinition<T>): Promise<Database<T>>
  /** Runs once its databases are closed. */
  close(): Promise<void>
}

export interface EngineOptions {
  /** Runtime of the system by default: commands open a store without a coordinator. */
  runtime?: Runtime | undefined
  logger?: Pick<Logger, 'info' | 'warn'> | undefined
  /** Receives the reason when the databases are away, and with undefined when they are back. */
  onOutage?: ((reason: string | undefined) => void) | undefined
}

/** Pieces of migrations that every engine spells in its own way. */
export interface EngineSchema {
  /** Refuses UPDATE and DELETE on a table from now on. */
  makeAppendOnly(db: Kysely<unknown>, table: string): Promise<void>
  /** Rows up to the number in the one row of another table may be deleted from now on, no others. */
  allowPurge(db: Kysely<unknown>, purge: { table: string; upTo: string }): Promise<void>
  /** Gives the columns of whole numbers that were made so far the range of those made from now on. */
  widenIntegers(db: Kysely<unknown>): Promise<void>
  /**
   * Makes the rows of a new table cheap: a crash of the server may empty it. An ordinary table where
   * the engine has no such kind.
   */
  makeUnlogged(db: Kysely<unknown>, table: string): Promise<void>
  /** Takes `makeUnlogged` back: the rows survive a crash, and reach the standbys. */
  makeLogged(db: Kysely<unknown>, table: string): Promise<void>
}

export interface DatabaseDefinition<T> extends LaneOptions<T> {
  name: 'ledger' | 'records'
  /**
   * Durability of a committed change: it survives loss of power, or only the end of the process.
   */
  survives: 'power_loss' | 'process_end'
  migrations: Record<string, StoreMigration>
  /** True to refuse, with `not_found`, a database that was never made. */
  mustExist?: boolean | undefined
  /** Clock in place of that of the database, unix milliseconds; SQLite has none of its own. */
  now?: (() => number) | undefined
}

export interface LaneOptions<T> {
  runtime?: Runtime | undefined
  /**
   * Returns the reason to refuse writes, read from the database because another process may have
   * recorded it; undefined while writes are allowed.
   */
  refusal?: ((trx: Transaction<T>) => Promise<string | undefined>) | undefined
  wait?: ((milliseconds: number) => Promise<unknown>) | undefined
  /** Works that may wait: a disk that hangs must not fill the memory. */
  queueLimit?: number | undefined
  observer?: LaneObserver | undefined
}

/** Observer of the lanes. SQLite does everything in one queue, which counts as sealed. */
export interface LaneObserver {
  /** Receives each commit: number of works in the transaction, and seconds since its beginning. */
  onCommit(lane: LaneName, works: number, seconds: number): void
  /** A work is tried again. */
  onRetry(lane: LaneName): void
}

export interface Database<T> extends Lanes<T> {
  /** Sees what is committed, never the middle of a transaction. */
  read: Kysely<T>
  /**
   * Connection for reads of many rows, which would stall the event loop: SQLite runs them one after
   * another on a thread of its own; else as `read`. Without transactions.
   */
  scan: Kysely<T>
  /** Connection for short reads that must not queue behind those of requests; else as `read`. */
  urgentRead: Kysely<T>
  /**
   * Reason why the database cannot be reached at all: everything fails at once until it is back.
   * Undefined while it can be reached, and for a file.
   */
  outage(): string | undefined
  /** Refuses every write from now on, with `audit_broken`; reading goes on. */
  freeze(reason: string): void
  /** Lifts `freeze` of this process. */
  unfreeze(): void
  /** Differs from the last answer after a commit elsewhere; it may also differ without one. */
  foreignCommits(): number
  /**
   * Unix milliseconds by the clock of the database, which all processes on it share: for leases.
   * SQLite has none of its own and its processes run on one machine, whose clock it is.
   */
  nowMs(trx: Transaction<T>): Promise<number>
  /**
   * The clock as `nowMs` reads it, and the name of the history that the database is in. The name
   * changes when a standby takes over, which may lack the last changes; a file has one history.
   */
  clock(trx: Transaction<T>): Promise<{ nowMs: number; history: string }>
  /**
   * Ends a selection of rows that an UPDATE claims: rows that another transaction is changing are
   * left out, so that claims neither wait for each other nor end up empty.
   */
  readonly skipLocked: RawBuilder<unknown>
  /**
   * Inserts many rows at the least cost; a row whose key is there already is left out. Returns the
   * keys of the rows that were inserted.
   */
  insertNew<N extends keyof T & string>(
    trx: Transaction<T>,
    target: InsertTarget<T, N>,
    rows: readonly Insertable<T[N]>[],
  ): Promise<unknown[]>
  /** True when the database itself refuses to change and to delete rows of the table. */
  isAppendOnly(table: keyof T & string): Promise<boolean>
  /**
   * Runs contracting migrations that are due by now, and returns the names of those that still wait
   * for older coordinators to stop. Throws `config_invalid` when a newer coordinator has changed the
   * schema so that this one cannot use it.
   */
  finishMigrations(): Promise<readonly string[]>
  /**
   * Removes what was deleted from the log of the database too, after an erasure; its pages are
   * overwritten with each deletion. PostgreSQL does neither by itself: its vacuum reuses the space.
   */
  overwriteDeleted(): Promise<void>
  /** Finishes what is queued and refuses later writes. */
  close(): Promise<void>
}

/**
 * Target of inserts, declared once per table, as a constant: an engine may keep the statement by
 * its identity.
 */
export interface InsertTarget<T, N extends keyof T & string> {
  table: N
  key: keyof T[N] & string
  columns: readonly (keyof T[N] & string)[]
}
