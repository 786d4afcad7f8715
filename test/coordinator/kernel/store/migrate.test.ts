import Sqlite from 'better-sqlite3'
import { Kysely, PostgresDialect, sql } from 'kysely'
import { Pool } from 'pg'
import t, { type Test } from 'tap'
import { type MigrationPlan, migrate } from '../../../../coordinator/kernel/store/migrate.ts'
import { ledgerMigrations } from '../../../../coordinator/kernel/store/migrations.ts'
import { postgresEngine } from '../../../../coordinator/kernel/store/postgres/postgres-engine.ts'
import { recordMigrations } from '../../../../coordinator/kernel/store/record-migrations.ts'
import { sqliteSchema } from '../../../../coordinator/kernel/store/sqlite/append-only.ts'
import { createSqliteDialect } from '../../../../coordinator/kernel/store/sqlite/dialect.ts'
import {
  isOlder,
  type StoreMigration,
} from '../../../../coordinator/kernel/store/store-migration.ts'
import { createDatabase, postgresMissing } from '../../../support/postgres.ts'

type AnyTables = Record<string, Record<string, unknown>>

const openSqlite = async (t: Test): Promise<Kysely<AnyTables>> => {
  const db = new Kysely<AnyTables>({ dialect: createSqliteDialect(new Sqlite(':memory:')) })
  t.teardown(() => db.destroy())
  return db
}

const openPostgres = async (t: Test): Promise<Kysely<AnyTables>> => {
  const address = await createDatabase(t)
  // the server may end an idle connection with its database, before the pool has closed it
  const pool = new Pool(address).on('error', () => {})
  const db = new Kysely<AnyTables>({ dialect: new PostgresDialect({ pool }) })
  t.teardown(() => db.destroy())
  return db
}

const createUnits: StoreMigration = {
  up: ({ schema }) => schema.createTable('units').addColumn('old', 'text').execute(),
}
const addNew: StoreMigration = {
  up: ({ schema }) => schema.alterTable('units').addColumn('new', 'text').execute(),
  compatibleFrom: '1.1.0',
}
const dropOld: StoreMigration = {
  up: ({ schema }) => schema.alterTable('units').dropColumn('old').execute(),
  compatibleFrom: '1.2.0',
  isContraction: true,
}

const FIRST = { '0001_units': createUnits }
const EXPANDED = { ...FIRST, '0002_new': addNew }
const CONTRACTED = { ...EXPANDED, '0003_drop_old': dropOld }

type Release = Pick<MigrationPlan<AnyTables>, 'migrations' | 'version'>
const V1: Release = { migrations: FIRST, version: '1.1.0' }
const V2: Release = { migrations: CONTRACTED, version: '1.2.0' }

for (const [engine, open, skip] of [
  ['SQLite', openSqlite, false],
  ['PostgreSQL', openPostgres, postgresMissing],
] as const)
  t.test(`two versions on one database in ${engine}`, { skip }, async t => {
    const start = (db: Kysely<AnyTables>, release: Release, running: string[] = []) =>
      migrate(db, { name: 'ledger', ...release, listVersions: async () => running })
    const columnsOf = async (db: Kysely<AnyTables>) => {
      const tables = await db.introspection.getTables()
      return tables.find(({ name }) => name === 'units')?.columns.map(({ name }) => name)
    }

    t.test('an older version goes on after a migration that says so', async t => {
      const db = await open(t)
      await start(db, V1)
      const waiting = await start(db, { ...V2, migrations: EXPANDED }, ['1.1.0'])
      t.strictSame(waiting, [])
      t.strictSame(await start(db, V1), [], 'it starts')
      const more = { ...FIRST, '0002_other': { up: async () => {} } }
      t.strictSame(await start(db, { ...V1, migrations: more }), [], 'and can migrate besides')
      const refused = { code: 'config_invalid', message: /newer shoal \(it knows 0002_new\)/ }
      await t.rejects(start(db, { ...V1, version: '1.0.9' }), refused)
    })

    t.test('a contraction waits until no older version runs', async t => {
      const db = await open(t)
      await start(db, V1)
      t.strictSame(await start(db, V2, ['1.1.0', '1.2.0']), ['0003_drop_old'])
      t.strictSame(await start(db, V2, ['1.1.0']), ['0003_drop_old'])
      t.strictSame(await columnsOf(db), ['old', 'new'])
      t.strictSame(await start(db, V2, ['1.2.0', '1.10.0']), [])
      t.strictSame(await columnsOf(db), ['new'])
      await t.rejects(start(db, V1), { message: /it knows 0003_drop_old\); this is 1.1.0/ })
    })

    t.test('a needed migration that would break a running version refuses to start', async t => {
      const db = await open(t)
      await start(db, V1)
      const { isContraction: _, ...needed } = dropOld
      const migrations = { ...FIRST, '0002_needed': needed }
      const refused = { code: 'config_invalid', message: /stop the coordinators before 1.2.0/ }
      await t.rejects(start(db, { ...V2, migrations }, ['1.1.0']), refused)
      t.strictSame(await columnsOf(db), ['old'])
    })
  })

t.test('PostgreSQL counts the coordinators that are alive', { skip: postgresMissing }, async t => {
  const address = await createDatabase(t)
  const needed = { up: async () => {}, compatibleFrom: '9999.0.0', isContraction: true } as const
  const engine = await postgresEngine(address)
  t.teardown(() => engine.close())
  const database = await engine.open<AnyTables>({
    name: 'ledger',
    survives: 'process_end',
    migrations: { ...FIRST, '0002_needed': needed, '0003_replicas': { up: createReplicas } },
  })
  t.teardown(() => database.close())
  t.strictSame(await database.finishMigrations(), [], 'none was registered at the start')
  const later = await engine.open<AnyTables>({
    name: 'records',
    survives: 'process_end',
    migrations: { '0001_later': needed },
  })
  t.teardown(() => later.close())
  t.strictSame(await later.finishMigrations(), ['0001_later'])
  await database.free.write(trx => sql`update replicas set until = 0`.execute(trx))
  t.strictSame(await later.finishMigrations(), [])
})

const createReplicas: StoreMigration['up'] = async db => {
  await sql`create table replicas (version text, until bigint)`.execute(db)
  await sql`insert into replicas values ('0.1.0', 9999999999999)`.execute(db)
}

t.test('every migration since several coordinators says which versions go on', async t => {
  const ledger = Object.entries(ledgerMigrations(sqliteSchema)).filter(([name]) => name > '0065')
  const records = Object.entries(recordMigrations).filter(([name]) => name > '0005')
  for (const [name, { compatibleFrom }] of [...ledger, ...records])
    t.match(compatibleFrom, /^\d+\.\d+\.\d+$/, name)
})

t.test('versions are compared by their numbers', async t => {
  t.ok(isOlder('0.9.0', '0.10.0'))
  t.ok(isOlder('1.2.3', '1.2.10'))
  t.notOk(isOlder('1.2.3', '1.2.3'))
  t.notOk(isOlder('2.0.0', '1.9.9'))
})
