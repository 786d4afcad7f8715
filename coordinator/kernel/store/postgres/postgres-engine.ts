import {
  HandleEmptyInListsPlugin,
  type Insertable,
  Kysely,
  replaceWithNoncontingentExpression,
  sql,
  type Transaction,
} from 'kysely'
import { DEFAULT_MIGRATION_TABLE } from 'kysely/migration'
import { ShoalError } from '../../../../shared/errors.ts'
import type {
  Database,
  DatabaseDefinition,
  EngineOptions,
  InsertTarget,
  StoreEngine,
} from '../engine.ts'
import { GroupCommit } from '../group-commit.ts'
import { migrate } from '../migrate.ts'
import type { StoreMigration } from '../store-migration.ts'
import { isAppendOnly, postgresSchema } from './append-only.ts'
import { ANSWER_MS, beginningsOf } from './beginnings.ts'
import type { PostgresAddress, ServerFacts } from './connection.ts'
import { createReadingDialect, createWritingDialect } from './dialect.ts'
import { FreeLane } from './free-lane.ts'
import { ConnectionPool } from './pool.ts'
import { requireSessions } from './require-sessions.ts'
import { listRunningVersions } from './running-versions.ts'
import { Server } from './server.ts'
import { Statements } from './statements.ts'

/** Connections per database for the free lane and for reads; the sealed lane has one. */
const CONNECTIONS = 4

/**
 * Connections per database that only urgent works and reads use: two, so that one which waits for a
 * row does not hold up the renewals.
 */
const URGENT_CONNECTIONS = 2

/**
 * Works of the sealed lane per transaction. Each has a savepoint, and beyond 64 of them PostgreSQL
 * keeps no list of a transaction's parts in memory (postgresql.org/docs/15/subxacts.html).
 */
const BATCH = 64

/** Both databases are tables of one PostgreSQL database, 15 or later, which is theirs alone. */
export const postgresEngine = async (
  address: PostgresAddress,
  { onOutage, logger }: EngineOptions = {},
): Promise<StoreEngine> => {
  const server = await Server.open(address)
  if (onOutage !== undefined) server.onOutage(onOutage)
  const statements = address.prepared === false ? undefined : new Statements()
  const openPool: OpenPool = (connections, answerMs) =>
    new ConnectionPool({ server, connections, answerMs, statements })
  try {
    const { deadlockMs } = requireServer(await server.facts())
    if (statements !== undefined) await requireSessions(server)
    return {
      schema: postgresSchema,
      isShared: true,
      open: definition => openDatabase({ server, openPool, deadlockMs, logger }, definition),
      close: () => server.close(),
    }
  } catch (error) {
    await server.close()
    throw error
  }
}

type OpenPool = (connections: number, answerMs: number) => ConnectionPool

interface EngineParts extends Pick<EngineOptions, 'logger'> {
  server: Server
  openPool: OpenPool
  deadlockMs: number
}

/** PostgreSQL refuses `in ()`, which SQLite takes for false. */
const PLUGINS = [new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })]

const openDatabase = async <T>(
  { server, openPool, deadlockMs, logger }: EngineParts,
  { name, survives, migrations, mustExist, now, ...options }: DatabaseDefinition<T>,
): Promise<Database<T>> => {
  const begins = beginningsOf(name, survives, deadlockMs)
  const connect = (purpose: keyof typeof begins, connections: number) => {
    const pool = openPool(connections, ANSWER_MS[purpose])
    return new Kysely<T>({ dialect: createWritingDialect(pool, begins[purpose]), plugins: PLUGINS })
  }
  const sealed = connect('sealed', 1)
  const free = connect('free', CONNECTIONS)
  const urgent = connect('free', URGENT_CONNECTIONS)
  const read = new Kysely<T>({
    dialect: createReadingDialect(openPool(CONNECTIONS, ANSWER_MS.read)),
    plugins: PLUGINS,
  })
  const migrating = connect('migrations', 1)
  const disconnect = async () => {
    await Promise.all([sealed, free, urgent, read, migrating].map(db => db.destroy()))
  }
  const plan = {
    name,
    migrations: announce(migrations, logger),
    suffix: `_${name}`,
    listVersions: listRunningVersions,
  }
  const finishMigrations = () => migrate(migrating, plan)
  try {
    if (mustExist) await requireTables(read, plan.suffix)
    await finishMigrations()
  } catch (error) {
    await disconnect()
    throw error
  }
  const queue = new GroupCommit(sealed, { ...options, batch: BATCH })
  const lane = new FreeLane({ ...options, db: free, urgent })
  let looks = 0
  return {
    sealed: queue.lanes().sealed,
    free: lane,
    read,
    scan: read,
    urgentRead: urgent,
    outage: () => server.outage,
    freeze: reason => {
      queue.freeze(reason)
      lane.freeze(reason)
    },
    unfreeze: () => {
      queue.unfreeze()
      lane.unfreeze()
    },
    // only a query could tell: who asks looks at the revisions each time
    foreignCommits: () => ++looks,
    nowMs: now === undefined ? readClock : async () => now(),
    clock: async trx => {
      const { nowMs, history } = await readHistory(trx)
      return { nowMs: now?.() ?? nowMs, history }
    },
    skipLocked: sql`for update skip locked`,
    insertNew,
    isAppendOnly: table => isAppendOnly(read, table),
    finishMigrations,
    overwriteDeleted: async () => {},
    close: async () => {
      await Promise.all([queue.close(), lane.close()])
      await disconnect()
    },
  }
}

/** A change of the tables may take long, and nothing else tells an operator what is waited for. */
const announce = (
  migrations: Record<string, StoreMigration>,
  logger: EngineOptions['logger'],
): Record<string, StoreMigration> =>
  Object.fromEntries(
    Object.entries(migrations).map(([name, migration]) => [
      name,
      {
        ...migration,
        up: async db => {
          logger?.info({ migration: name }, 'the tables of the store are being changed')
          await migration.up(db)
        },
      },
    ]),
  )

/** Throws `not_found` for a database in which shoal has never been. */
const requireTables = async <T>(db: Kysely<T>, suffix: string): Promise<void> => {
  const table = `${DEFAULT_MIGRATION_TABLE}${suffix}`
  const { rows } = await sql<{ exists: boolean }>`
    select to_regclass(${table}) is not null as exists`.execute(db)
  if (rows[0]?.exists === true) return
  throw new ShoalError('not_found', 'there is no store in the database; create one with init')
}

/** Throws `config_invalid` for a server or a database that shoal cannot work with. */
const requireServer = (facts: ServerFacts): ServerFacts => {
  if (facts.version < 150_000)
    throw new ShoalError('config_invalid', 'store.url: PostgreSQL 15 or later is needed')
  if (facts.encoding !== 'UTF8')
    throw new ShoalError(
      'config_invalid',
      `store.url: the database has ${facts.encoding}, not UTF8`,
    )
  return facts
}

const readClock = async <T>(trx: Transaction<T>): Promise<number> => {
  const { rows } = await sql<{ now: number }>`
    select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as now`.execute(trx)
  return (rows[0] as { now: number }).now
}

/**
 * The timeline of the server, which counts the standbys that took over (postgresql.org/docs/15/
 * continuous-archiving.html, 26.3.5), is the beginning of the name of its log file.
 */
const readHistory = async <T>(trx: Transaction<T>): Promise<{ nowMs: number; history: string }> => {
  const { rows } = await sql<{ now: number; history: string }>`
    select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as now,
      substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as history`.execute(trx)
  const { now, history } = rows[0] as { now: number; history: string }
  return { nowMs: now, history }
}

/** One parameter for all rows: the server reads them with the types of the table. */
const insertNew = async <T, N extends keyof T & string>(
  trx: Transaction<T>,
  { table, key, columns }: InsertTarget<T, N>,
  rows: readonly Insertable<T[N]>[],
): Promise<unknown[]> => {
  if (rows.length === 0) return []
  const names = sql.join(columns.map(column => sql.ref(column)))
  const { rows: inserted } = await sql<
    Record<string, unknown>
  >`insert into ${sql.table(table)} (${names})
    select ${names} from json_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(rows)})
    on conflict (${sql.ref(key)}) do nothing returning ${sql.ref(key)}`.execute(trx)
  return inserted.map(row => row[key])
}
