import { type Kysely, sql } from 'kysely'
import t, { type Test } from 'tap'
import * as z from 'zod'
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
import { ddlOf, type EngineName } from '../../../../coordinator/kernel/store/ddl.ts'
import {
  defineTable,
  type TableDefinition,
} from '../../../../coordinator/kernel/store/define-table.ts'
import type { StoreEngine } from '../../../../coordinator/kernel/store/engine.ts'
import { loadTables } from '../../../../coordinator/kernel/store/load-tables.ts'
import type { StorePlace } from '../../../../coordinator/kernel/store/place.ts'
import { postgresEngine } from '../../../../coordinator/kernel/store/postgres/postgres-engine.ts'
import { sqliteEngine } from '../../../../coordinator/kernel/store/sqlite/sqlite-engine.ts'
import { openStore } from '../../../../coordinator/kernel/store/store.ts'
import { createDatabase, postgresMissing } from '../../../support/postgres.ts'
import { temporaryFolder } from './temporary.ts'

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
