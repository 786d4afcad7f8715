import {
  CompiledQuery,
  type DatabaseConnection,
  type DataTypeNode,
  type Dialect,
  type Kysely,
  PostgresAdapter,
  PostgresDriver,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type PrimitiveValueListNode,
  type QueryId,
  type RootOperationNode,
  sql,
} from 'kysely'
import { StoreFault, storeUnavailable } from '../faults.ts'
import type { ConnectionPool } from './pool.ts'

/** Kysely over a pool, whose transactions all begin with the same statements. */
export const createWritingDialect = (pool: ConnectionPool, begin: string): Dialect => ({
  createDriver: () => new BeginningDriver(pool, begin),
  createAdapter: () => new TransactionLockAdapter(),
  createQueryCompiler: () => new SchemaCompiler(),
  createIntrospector: db => new PostgresIntrospector(db),
})

/** Kysely over a pool that only reads. */
export const createReadingDialect = (pool: ConnectionPool): Dialect => ({
  createDriver: () => new PostgresDriver({ pool }),
  createAdapter: () => new PostgresAdapter(),
  createQueryCompiler: () => new ReadingCompiler(),
  createIntrospector: db => new PostgresIntrospector(db),
})

/** Compiles a list without values, which only SQLite accepts, as one that nothing is in. */
class PortableCompiler extends PostgresQueryCompiler {
  protected override visitPrimitiveValueList(node: PrimitiveValueListNode): void {
    if (node.values.length === 0) this.append('(null)')
    else super.visitPrimitiveValueList(node)
  }
}

/**
 * Refuses statements that write. The session could refuse them itself, but a pooler in transaction
 * mode gives its settings to others.
 */
class ReadingCompiler extends PortableCompiler {
  override compileQuery(node: RootOperationNode, queryId: QueryId): CompiledQuery {
    if (!READS.includes(node.kind)) {
      const message = `${node.kind} on a connection that only reads`
      throw storeUnavailable(message, new StoreFault('read_only', message, undefined))
    }
    return super.compileQuery(node, queryId)
  }
}

const READS: readonly RootOperationNode['kind'][] = ['SelectQueryNode', 'RawNode']

/**
 * Creates columns as SQLite has them: text that sorts by bytes, as ids and cursors need, whatever
 * the database does, and whole numbers of 64 bits.
 */
class SchemaCompiler extends PortableCompiler {
  protected override visitDataType(node: DataTypeNode): void {
    if (node.dataType === 'integer') this.append('bigint')
    else super.visitDataType(node)
    if (node.dataType === 'text') this.append(' collate "C"')
  }
}

/** Begins a transaction and sets it up in one round trip. */
class BeginningDriver extends PostgresDriver {
  readonly #begin: string

  constructor(pool: ConnectionPool, begin: string) {
    super({ pool })
    this.#begin = begin
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(this.#begin))
  }

  /**
   * Rolls back. It must not throw, or Kysely never releases the connection; it is discarded
   * instead.
   */
  override async rollbackTransaction(connection: PostgresConnection): Promise<void> {
    await super.rollbackTransaction(connection).catch(() => {})
  }
}

type PostgresConnection = Parameters<PostgresDriver['rollbackTransaction']>[0]

const MIGRATION_LOCK = 0x73686f61

/** Locks migrations for the transaction and not for the session, which a pooler may hand on. */
class TransactionLockAdapter extends PostgresAdapter {
  // biome-ignore lint/suspicious/noExplicitAny: the type of Kysely's own method
  override async acquireMigrationLock(db: Kysely<any>): Promise<void> {
    await sql`select pg_advisory_xact_lock(${sql.lit(MIGRATION_LOCK)})`.execute(db)
  }

  override async releaseMigrationLock(): Promise<void> {}
}
