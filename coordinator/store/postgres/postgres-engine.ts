import { type Insertable, Kysely, sql, type Transaction } from 'kysely'
import { ShoalError } from '../../../shared/errors.ts'
import type { Database, DatabaseDefinition, InsertTarget, StoreEngine } from '../engine.ts'
import { GroupCommit } from '../group-commit.ts'
import { migrate } from '../migrate.ts'
import { isAppendOnly, postgresSchema } from './append-only.ts'
import { createReadingDialect, createWritingDialect } from './dialect.ts'
import { FreeLane } from './free-lane.ts'
import { ConnectionPool, type PostgresAddress } from './pool.ts'
import { listRunningVersions } from './running-versions.ts'

/** Connections per database for the free lane and for reads; the sealed lane has one. */
const CONNECTIONS = 4

/**
 * Works of the sealed lane per transaction. Each has a savepoint, and beyond 64 of them PostgreSQL
 * keeps no list of a transaction's parts in memory (postgresql.org/docs/15/subxacts.html).
 */
const BATCH = 64

/** Keys of the advisory locks of the sealed lanes. */
const LOCKS = { ledger: 0x73686f62, records: 0x73686f63 } as const

/** A free work gives way before the deadlock detector (1 s) ends one of the sealed lane. */
const FREE_LOCK_MS = 500

/** The lock of the sealed lane must come before the snapshot of each statement. */
const BEGIN = 'begin isolation level read committed'

const SYNCHRONOUS = { power_loss: 'on', process_end: 'off' } as const

/** Both databases are tables of one PostgreSQL database, 15 or later, which is theirs alone. */
export const postgresEngine = (address: PostgresAddress): StoreEngine => {
  const pools: ConnectionPool[] = []
  const openPool: OpenPool = connections => {
    const onDemoted = () => {
      for (const pool of pools) pool.replace()
    }
    const pool = new ConnectionPool({ address, connections, onDemoted })
    pools.push(pool)
    return pool
  }
  return {
    schema: postgresSchema,
    isShared: true,
    open: definition => openDatabase(openPool, definition),
  }
}

type OpenPool = (connections: number) => ConnectionPool

const openDatabase = async <T>(
  openPool: OpenPool,
  { name, survives, migrations, now, ...options }: DatabaseDefinition<T>,
): Promise<Database<T>> => {
  const begin = `${BEGIN}; set local synchronous_commit = ${SYNCHRONOUS[survives]}`
  const connect = (connections: number, lockTimeoutMs: number, more = '') => {
    const setUp = `${begin}; set local lock_timeout = ${lockTimeoutMs}${more}`
    return new Kysely<T>({ dialect: createWritingDialect(openPool(connections), setUp) })
  }
  const sealed = connect(1, 0, `; select pg_advisory_xact_lock(${LOCKS[name]})`)
  const free = connect(CONNECTIONS, FREE_LOCK_MS)
  const read = new Kysely<T>({ dialect: createReadingDialect(openPool(CONNECTIONS)) })
  const disconnect = async () => {
    await Promise.all([sealed, free, read].map(db => db.destroy()))
  }
  const plan = { name, migrations, suffix: `_${name}`, listVersions: listRunningVersions }
  const finishMigrations = () => migrate(sealed, plan)
  try {
    await requireServer(read)
    await finishMigrations()
  } catch (error) {
    await disconnect()
    throw error
  }
  const queue = new GroupCommit(sealed, { ...options, batch: BATCH })
  const lane = new FreeLane(free, options)
  let looks = 0
  return {
    sealed: queue.lanes().sealed,
    free: lane,
    read,
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
    insertNew,
    isAppendOnly: table => isAppendOnly(read, table),
    finishMigrations,
    close: async () => {
      await Promise.all([queue.close(), lane.close()])
      await disconnect()
    },
  }
}

/** Throws `config_invalid` for a server or a database that shoal cannot work with. */
const requireServer = async <T>(db: Kysely<T>): Promise<void> => {
  const { rows } = await sql<{ version: string; encoding: string }>`
    select current_setting('server_version_num') as version,
      current_setting('server_encoding') as encoding`.execute(db)
  const { version = '', encoding = '' } = rows[0] ?? {}
  if (Number(version) < 150_000)
    throw new ShoalError('config_invalid', 'store.url: PostgreSQL 15 or later is needed')
  if (encoding !== 'UTF8')
    throw new ShoalError('config_invalid', `store.url: the database has ${encoding}, not UTF8`)
}

const readClock = async <T>(trx: Transaction<T>): Promise<number> => {
  const { rows } = await sql<{ now: number }>`
    select cast(extract(epoch from clock_timestamp()) * 1000 as bigint) as now`.execute(trx)
  return (rows[0] as { now: number }).now
}

/** One parameter for all rows: the server reads them with the types of the table. */
const insertNew = async <T, N extends keyof T & string>(
  trx: Transaction<T>,
  { table, key, columns }: InsertTarget<T, N>,
  rows: readonly Insertable<T[N]>[],
): Promise<void> => {
  if (rows.length === 0) return
  const names = sql.join(columns.map(column => sql.ref(column)))
  await sql`insert into ${sql.table(table)} (${names})
    select ${names} from json_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(rows)})
    on conflict (${sql.ref(key)}) do nothing`.execute(trx)
}
