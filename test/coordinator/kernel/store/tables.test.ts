import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Kysely, sql } from 'kysely'
import t, { type Test } from 'tap'
import * as z from 'zod'
import { defineView, own } from '../../../../coordinator/kernel/declaration/define-view.ts'
import {
  flag,
  json,
  oneOf,
  optional,
  reference,
  sealed,
  text,
  time,
  withDefault,
} from '../../../../coordinator/kernel/store/columns.ts'
import { countDamagedRows } from '../../../../coordinator/kernel/store/damaged-rows.ts'
import { ddlOf } from '../../../../coordinator/kernel/store/ddl.ts'
import {
  defineTable,
  type TableDefinition,
} from '../../../../coordinator/kernel/store/define-table.ts'
import type { StoreEngine } from '../../../../coordinator/kernel/store/engine.ts'
import {
  loadTableMigrations,
  loadTables,
  readTableMigrations,
} from '../../../../coordinator/kernel/store/load-tables.ts'
import { ledgerMigrations } from '../../../../coordinator/kernel/store/migrations.ts'
import type { StorePlace } from '../../../../coordinator/kernel/store/place.ts'
import { postgresEngine } from '../../../../coordinator/kernel/store/postgres/postgres-engine.ts'
import { readEach } from '../../../../coordinator/kernel/store/read-each.ts'
import { sqliteEngine } from '../../../../coordinator/kernel/store/sqlite/sqlite-engine.ts'
import { openStore } from '../../../../coordinator/kernel/store/store.ts'
import { createStoreMetrics } from '../../../../coordinator/surfaces/metrics/store-metrics.ts'
import { createDatabase, postgresMissing } from '../../../support/postgres.ts'
import { temporaryFolder } from './temporary.ts'

type EngineName = Parameters<typeof ddlOf>[1]

type AnyTables = Record<string, Record<string, unknown>>
type Reader = Kysely<AnyTables>
/** Columns, keys and indexes of each table, as the engine reports them. */
type Schema = Record<string, readonly string[]>

const robots = defineTable('robots', {
  columns: {
    id: text(),
    tenant_id: reference('tenants'),
    state: oneOf(['idle', 'moving']),
    roles_json: json(z.array(z.string())),
    plan_json: optional(json(z.object({ steps: z.number() }))),
    token_sealed: sealed(),
    is_local: flag(),
    docked_at: time(),
    ended_at: optional(time()),
    speed_le_100: withDefault(time(), 0),
  },
  key: ['tenant_id', 'id'],
})

const row = {
  id: 'r1',
  tenant_id: 'acme',
  state: 'idle' as const,
  roles_json: '["builder"]',
  plan_json: null,
  token_sealed: 'xyzzy',
  is_local: 1,
  docked_at: 1,
  ended_at: null,
  speed_le_100: 5,
}

t.test('a row is read with the names and types of the code, and written back the same', async t => {
  const robot = robots.read(row)
  t.strictSame(robot, {
    id: 'r1',
    tenantId: 'acme',
    state: 'idle',
    roles: ['builder'],
    plan: undefined,
    tokenSealed: 'xyzzy',
    isLocal: true,
    dockedAt: 1,
    endedAt: undefined,
    speedLe100: 5,
  })
  t.strictSame(robots.write(robot), row)
  t.strictSame(robots.writeSome({ endedAt: undefined, plan: { steps: 2 } }), {
    plan_json: '{"steps":2}',
    ended_at: null,
  })
  t.strictSame(robots.readSome({ id: 'r1', ended_at: 7 }), { id: 'r1', endedAt: 7 })
})

t.test('a new row may leave out what may be null and what has a default', async t => {
  const { ended_at: _, plan_json: __, speed_le_100: ___, ...stored } = row
  const { endedAt: _e, plan: _p, speedLe100: _s, ...robot } = robots.read(row)
  t.strictSame(robots.write(robot), { ...stored, plan_json: null, ended_at: null })
})

t.test('a view shows columns as they are, and states what differs', t => {
  const view = defineView(robots, {
    id: true,
    state: true,
    roles: 'Roles, in order.',
    plan: true,
    moving: own(z.boolean(), ({ state }: { state: string }) => state === 'moving'),
    is_local: true,
    docked_at: true,
    ended_at: true,
  })
  const shown = view.of(robots.read(row))
  t.strictSame(view.schema.parse(shown), {
    id: 'r1',
    state: 'idle',
    roles: ['builder'],
    plan: null,
    moving: false,
    is_local: true,
    docked_at: '1970-01-01T00:00:00.001Z',
    ended_at: null,
  })
  const { properties } = z.toJSONSchema(view.schema)
  t.match(properties, {
    state: { enum: ['idle', 'moving'] },
    roles: { type: 'array', description: 'Roles, in order.' },
    ended_at: { anyOf: [{ format: 'date-time' }, { type: 'null' }] },
  })
  // @ts-expect-error: there is no such column
  t.throws(() => defineView(robots, { speed: true }), { message: 'no column speed' })
  // @ts-expect-error: a secret is never shown
  t.throws(() => defineView(robots, { token_sealed: true }), TypeError)
  t.end()
})

t.test(
  'a damaged row is an internal error that names table, key and column, but no value',
  async t => {
    for (const [column, value, why] of [
      ['state', 'xyzzy', 'expected one of idle, moving, found string'],
      ['roles_json', '["xyzzy", 1]', /^1: .*string/],
      ['roles_json', '["xyzzy"', 'expected JSON, found string'],
      ['plan_json', '{"steps":"xyzzy"}', /^steps: .*number/],
      ['token_sealed', null, 'expected text, found null'],
      ['is_local', 2, 'expected 0 or 1, found number'],
      ['docked_at', 1.5, 'expected a whole number, found number'],
      ['docked_at', undefined, 'expected a whole number, found undefined'],
    ] as const) {
      const damaged = { ...row, [column]: value } as typeof row
      const error = t.throws(() => robots.read(damaged), { code: 'internal' }) as Error
      const start = `robots (tenant_id acme, id r1): column ${column} is damaged: `
      t.equal(error.message.slice(0, start.length), start)
      t.match(error.message.slice(start.length), why)
      t.notMatch(error.message, 'xyzzy')
    }
  },
)

t.test('a damaged row is counted once until it reads well, and logged once by lists', t => {
  const reasons: string[] = []
  const logger = { warn: ({ reason }: { reason: string }) => void reasons.push(reason) }
  const rows = ['once', 'twice', 'sound'].map((id, n) => ({
    ...row,
    id,
    ...(n < 2 && { state: 'later' as 'idle' }),
  }))
  const before = countDamagedRows().robots ?? 0
  for (let n = 0; n < 3; n++)
    t.equal(readEach(rows, robots.read, logger as never).length, 1, 'the sound one is read')
  t.equal((countDamagedRows().robots ?? 0) - before, 2)
  t.match(reasons, [/id once/, /id twice/])
  t.equal(reasons.length, 2)
  const gauge = createStoreMetrics().list.find(({ name }) => name === 'shoal_store_damaged_rows')
  t.match(
    gauge?.read().find(({ labels }) => labels.table === 'robots'),
    { value: before + 2 },
  )
  const [once] = rows
  robots.readSome({ tenant_id: row.tenant_id, id: 'once' })
  t.equal(countDamagedRows().robots, before + 2, 'its damaged column was not read')
  robots.read({ ...row, ...once, state: 'idle' })
  t.equal(countDamagedRows().robots, before + 1, 'it reads well again')
  for (let n = 0; n < 2000; n++)
    readEach([{ ...row, id: `r${n}`, is_local: 2 }], robots.read, undefined)
  t.equal(countDamagedRows().robots, 1000, 'no more are told apart')
  t.end()
})

/** Kinds of columns and the rest, without what the engines name by themselves. */
const readSqlite = async (db: Reader): Promise<Schema> => {
  const { rows } = await sql<{ name: string; lines: string }>`
    select tables.name, (
      select json_group_array(line) from (
        select 'column ' || name || ' ' || case when type like '%int%' then 'integer' else lower(type) end
          || ' ' || "notnull" || ' ' || coalesce(dflt_value, '-') || ' ' || pk as line
          from pragma_table_info(tables.name)
        union all
        select 'reference ' || "from" || ' ' || "table" || ' ' || "to" || ' ' || on_delete
          from pragma_foreign_key_list(tables.name)
        union all
        select 'index ' || case indexes.origin when 'c' then indexes.name else indexes.origin end
          || ' ' || indexes."unique" || ' ' || (
            select group_concat(name || ' ' || "desc") from pragma_index_xinfo(indexes.name) where "key" = 1
          ) || ' ' || coalesce((select substr(sql, instr(sql, ' where ')) from sqlite_master as master
            where master.name = indexes.name and indexes.partial = 1), '-')
          from pragma_index_list(tables.name) as indexes where origin <> 'pk'
        order by line
      )
    ) as lines
    from sqlite_master as tables
    where tables.type = 'table' and tables.name not like 'kysely_%'`.execute(db)
  return Object.fromEntries(
    rows.map(({ name, lines }) => [name, JSON.parse(lines.replaceAll('\\"', '')) as string[]]),
  )
}

const readPostgres = async (db: Reader): Promise<Schema> => {
  const { rows } = await sql<{ name: string; line: string }>`
    select table_name as name,
      'column ' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '-') as line
      from information_schema.columns where table_schema = current_schema()
    union all
    select relname, 'constraint ' || pg_get_constraintdef(pg_constraint.oid)
      from pg_constraint join pg_class on pg_class.oid = conrelid
      where contype in ('p', 'u', 'f') and relnamespace = current_schema()::regnamespace
    union all
    select tablename, 'index ' || substr(indexdef, strpos(indexdef, ' ON ')) || ' ' || indexname
      || case when indexdef like 'CREATE UNIQUE%' then ' unique' else '' end
      from pg_indexes where schemaname = current_schema()
      and not exists (select 1 from pg_constraint where conname = indexname)
    order by 1, 2`.execute(db)
  const ours = rows.filter(({ name }) => !name.startsWith('kysely_'))
  const tables = Object.entries(Object.groupBy(ours, ({ name }) => name))
  return Object.fromEntries(tables.map(([name, of = []]) => [name, of.map(({ line }) => line)]))
}

/** The schema of a store that a coordinator has opened. */
const migrated = async (
  place: StorePlace,
  read: (db: Reader) => Promise<Schema>,
): Promise<Schema> => {
  const store = await openStore(place, { pollMilliseconds: 0 })
  try {
    const [ledger, records] = [store.ledger.read, store.records.read] as unknown as Reader[]
    return { ...(await read(ledger as Reader)), ...(await read(records as Reader)) }
  } finally {
    await store.close()
  }
}

/** The schema of an empty database after the statements of the definitions. */
const defined = async (
  engine: StoreEngine,
  name: EngineName,
  read: (db: Reader) => Promise<Schema>,
): Promise<Schema> => {
  const database = await engine.open<AnyTables>({
    name: 'ledger',
    survives: 'process_end',
    migrations: {},
  })
  try {
    const tables: readonly TableDefinition[] = await loadTables()
    await database.sealed.write(async trx => {
      for (const statement of tables.flatMap(table => ddlOf(table, name)))
        await sql.raw(statement).execute(trx)
    })
    return await read(database.read)
  } finally {
    await database.close()
    await engine.close()
  }
}

const compare = (t: Test, defined: Schema, migrated: Schema): void => {
  t.strictSame(
    Object.keys(defined).toSorted(),
    Object.keys(migrated).toSorted(),
    'no table is missing',
  )
  for (const [table, lines] of Object.entries(migrated)) {
    t.match(lines, [/./], `${table} was introspected`)
    t.strictSame(defined[table], lines, `${table} matches its definition`)
  }
}

t.test('every table matches its definition: SQLite', async t => {
  const engine = sqliteEngine(await temporaryFolder(t), {})
  compare(
    t,
    await defined(engine, 'sqlite', readSqlite),
    await migrated(await temporaryFolder(t), readSqlite),
  )
})

t.test('every table matches its definition: PostgreSQL', { skip: postgresMissing }, async t => {
  const engine = await postgresEngine(await createDatabase(t), {})
  compare(
    t,
    await defined(engine, 'postgres', readPostgres),
    await migrated(await createDatabase(t), readPostgres),
  )
})

const STORE = join(import.meta.dirname, '../../../../coordinator/kernel/store')

/** A folder of areas with one table, which is declared with the migrations that make it. */
const declareTable = async (t: Test, files = ['robot']): Promise<string> => {
  const areas = await temporaryFolder(t)
  mkdirSync(join(areas, 'area', 'domain'), { recursive: true })
  for (const file of files)
    writeFileSync(
      join(areas, 'area', 'domain', `${file}.table.ts`),
      `
import { optional, text, withDefault } from '${STORE}/columns.ts'
import { defineTable } from '${STORE}/define-table.ts'

export const ${file}Table = defineTable('${file}s', {
  columns: { id: text(), note: optional(text()), kind: withDefault(text(), 'rover') },
  key: ['id'],
  migrations: {
    '0200_robots': {
      statements: ['create table robots (id text primary key not null)'],
      compatibleFrom: '0.1.0',
    },
    '0201_robot_note': {
      statements: [
        'alter table robots add column note text',
        "alter table robots add column kind text default 'rover' not null",
      ],
      compatibleFrom: '0.1.0',
    },
  },
})
`,
    )
  return areas
}

/** Opens a ledger that knows the table of a folder, and one that was made from its definition. */
const testDeclared = async (
  t: Test,
  open: (t: Test) => Promise<StoreEngine>,
  name: EngineName,
  read: (db: Reader) => Promise<Schema>,
): Promise<void> => {
  const areas = await declareTable(t)
  const definition = { name: 'ledger', survives: 'process_end' } as const
  const engine = await open(t)
  const ledger = await engine.open<AnyTables>({
    ...definition,
    migrations: {
      ...ledgerMigrations(engine.schema),
      ...(await readTableMigrations(areas)).ledger,
    },
  })
  const other = await open(t)
  const made = await other.open<AnyTables>({ ...definition, migrations: {} })
  t.teardown(async () => {
    for (const each of [ledger, engine, made, other]) await each.close()
  })
  const [table] = await loadTables(areas)
  await made.sealed.write(async trx => {
    for (const statement of ddlOf(table as TableDefinition, name))
      await sql.raw(statement).execute(trx)
  })
  const { robots: lines } = await read(ledger.read)
  t.match(lines, [/./])
  t.strictSame(lines, (await read(made.read)).robots, 'the steps make what is declared')
  await ledger.free.write(trx => trx.insertInto('robots').values({ id: 'r1' }).execute())
  t.strictSame(await ledger.read.selectFrom('robots').selectAll().execute(), [
    { id: 'r1', note: null, kind: 'rover' },
  ])
}

t.test('a table and its new columns need no other file: SQLite', async t => {
  const open = async (t: Test) => sqliteEngine(await temporaryFolder(t), {})
  await testDeclared(t, open, 'sqlite', readSqlite)
})

t.test(
  'a table and its new columns need no other file: PostgreSQL',
  { skip: postgresMissing },
  async t => {
    const open = async (t: Test) => postgresEngine(await createDatabase(t), {})
    await testDeclared(t, open, 'postgres', readPostgres)
  },
)

t.test('the migrations of all tables are found, and two of one name are refused', async t => {
  const declared = (await loadTables()).flatMap(({ migrations }) => Object.keys(migrations))
  const { ledger, records } = await loadTableMigrations()
  t.strictSame(Object.keys({ ...ledger, ...records }).toSorted(), declared.toSorted())
  const areas = await declareTable(t, ['robot', 'rover'])
  await t.rejects(readTableMigrations(areas), {
    message: 'migration 0200_robots is declared twice',
  })
})
